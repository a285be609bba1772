"""Node and edge kinds of the static graph of a commit.

Nodes are *versions* that several commits share. A ``File`` is one content at one path *with one answer of the linker*: its id
digests both, so an edit elsewhere that changes what a call in it resolves to makes a new version, and no edge has to be
qualified by commit. Edges that leave a file end at an *identity* (``Symbol``, ``External``), so an edit of the callee moves
none of them. One commit is therefore one pattern: ``(:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f:Function)``.
"""

from __future__ import annotations

from cgx.model.schema_rows import EdgeKind, NodeKind, flag, integer, text, texts

_PLACE = (
    text("path", "path from the source root, with /", True),
    integer("line", "1-based line where it starts", True),
    integer("end_line", "1-based line where it ends", True),
    text("anchor", "path:symbol:line, for terminals and editors", True),
)
_PRINTS = (
    text("exact", "digest of the body's text: equal means unchanged wherever it stands"),
    text("normal", "digest of the body without formatting, comments, docstrings and its own name"),
    text("shape", "digest of the statement skeleton with names taken out"),
)

STATIC_NODES: tuple[NodeKind, ...] = (
    NodeKind(
        "Repository",
        "static",
        "A repository, or a folder inside one, that was indexed.",
        "the repository key (stable over clones: name and digest of the root commit or remote, and the sub-folder)",
        (
            text("name", "last part of the remote's URL, else of the folder", True),
            text("remote", "URL of the remote, without credentials"),
            text("prefix", "folder inside the repository that paths are relative to"),
        ),
    ),
    NodeKind(
        "Commit",
        "static",
        "One state of a repository: a commit, a plain folder's content, or a modified work tree.",
        "the full sha; '<sha>:<prefix>' for a folder inside a repository; 'tree:<digest>' for a plain folder; "
        "'<sha>+<digest>' for a modified work tree",
        (
            text("name", "short form for people", True),
            text("sha", "the full sha; absent for a plain folder"),
            text("tree", "digest of what was read, for a plain folder or work tree"),
            text("repository", "id of the Repository", True),
            texts("refs", "names that pointed here when it was indexed"),
            texts("parents", "full shas of the parents"),
            integer("time", "committer time, epoch seconds"),
            text("subject", "first line of the message"),
            flag("complete", "false until everything of it is written", True),
            text("generator", "name and version of what wrote it"),
            integer("files", "files read"),
            integer("lines", "lines read"),
            integer("sites", "call sites seen"),
            integer("resolved", "call sites with a target in the source"),
            integer("external", "call sites with a target outside the source"),
            integer("unresolved", "call sites without a target"),
            texts("skipped", "'path: why' of what was not read"),
            texts("moved_from", "ids of the commits that MOVED_TO edges to this one were made from"),
        ),
        ("sha", "repository"),
    ),
    NodeKind(
        "File",
        "static",
        "One version of a file: its content at its path, as linked.",
        "'<path>@<digest>' where the digest is over repository, blob, extractor version and the linker's answers",
        (
            text("name", "file name", True),
            text("path", "path from the source root, with /", True),
            text("blob", "git blob id of the content", True),
            text("module", "dotted module name; absent where it cannot be imported"),
            text("repository", "id of the Repository", True),
            integer("lines", "number of lines"),
            text("parsed", "'whole', 'partial' (syntax errors: what parses is kept) or 'definitions' (huge file)"),
            text("error", "the syntax error, where there is one"),
            texts("answers", "how sure its calls are: 'basis author count' for each basis and author"),
        ),
        ("path", "blob", "module"),
    ),
    NodeKind(
        "Class",
        "static",
        "One version of a class.",
        "'<file id>:<symbol>', with '#2', '#3' for later definitions of one name",
        (
            text("name", "the class's own name", True),
            text("symbol", "qualified name inside the file", True),
            text("qname", "module and symbol", True),
            *_PLACE,
            texts("decorators", "source text of the decorators"),
            texts("bases", "source text of the bases"),
            texts("fields", "names of class-level and self attributes, in order of first binding"),
            text("doc", "first line of the docstring"),
            *_PRINTS,
        ),
        ("qname",),
    ),
    NodeKind(
        "Function",
        "static",
        "One version of a function or method, or the code of a file outside any function.",
        "'<file id>:<symbol>', with '#2', '#3' for later definitions of one name; '<file id>:<module>' for the file's own code",
        (
            text("name", "the function's own name", True),
            text("symbol", "qualified name inside the file, or <module>", True),
            text("qname", "module and symbol", True),
            text("kind", "'function', 'method', 'nested', 'lambda' or 'module'", True),
            *_PLACE,
            texts("parameters", "parameter texts in order, with defaults"),
            texts("decorators", "source text of the decorators"),
            text("returns", "annotation of the result"),
            flag("asynchronous", "async def"),
            flag("generator", "it yields"),
            text("doc", "first line of the docstring"),
            *_PRINTS,
        ),
        ("qname",),
    ),
    NodeKind(
        "Symbol",
        "static",
        "The identity of a module, class, function or module-level name of the source, whatever its version.",
        "'<repository id>:<qname>'",
        (
            text("name", "last part of the qualified name", True),
            text("qname", "qualified name", True),
            text("kind", "'module', 'class', 'function', 'method', 'variable' or 'attribute'", True),
            text("repository", "id of the Repository", True),
        ),
        ("qname",),
    ),
    NodeKind(
        "External",
        "static",
        "A name outside the source: of torch, the standard library or another distribution.",
        "the qualified name",
        (
            text("name", "last part of the qualified name", True),
            text("qname", "qualified name as the library publishes it", True),
            text("package", "first part of the qualified name", True),
            text("role", "what a table says of it: 'collective', 'sync', 'copy', 'layer', 'op', 'optimizer', ..."),
        ),
        ("qname", "package"),
    ),
    NodeKind(
        "Reason",
        "static",
        "Why something is not known: one row of the table of reasons.",
        "'reason:<word>', since an External may have the word's name",
        (text("name", "the reason's word", True), text("doc", "what it means")),
    ),
    NodeKind(
        "EntryPoint",
        "static",
        "A way to start the code: a script, a console script, or a launch line found in scripts and docs.",
        "'<repository id>:entry:<digest of all its properties>': commits that hold the same share it",
        (
            text("name", "short form for people", True),
            text("kind", "'script', 'console script', 'launch script' or 'documented line'", True),
            text("command", "the launch line as a person would type it", True),
            text("anchor", "where the evidence stands", True),
            text("why", "what speaks for it"),
        ),
    ),
)

_SITE = (
    integer("line", "1-based line of the site", True),
    integer("col", "0-based column, in characters, of the callee's name"),
    text("text", "source text of the callee, cut"),
    text("basis", "'exact', 'several', 'modelled' or 'likely'", True),
    text("author", "the pass or table row that says so", True),
)
_CALLERS = ("Function", "Class")

STATIC_EDGES: tuple[EdgeKind, ...] = (
    EdgeKind("OF_REPOSITORY", ("Commit",), ("Repository",), "The commit belongs to the repository."),
    EdgeKind("PARENT", ("Commit",), ("Commit",), "The commit's parent, where both are indexed."),
    EdgeKind("HAS", ("Commit",), ("File",), "The commit holds this version of the file."),
    EdgeKind(
        "OFFERS",
        ("Commit",),
        ("EntryPoint",),
        "The commit can be started this way.",
        (integer("rank", "position by likelihood of being a job, from 0", True),),
    ),
    EdgeKind("STARTS", ("EntryPoint",), ("Symbol",), "The module or function that the entry point runs first."),
    EdgeKind("DEFINES", ("File",), ("Class", "Function"), "The file's every class and function, however nested."),
    EdgeKind(
        "CONTAINS", ("Class", "Function"), ("Class", "Function"), "What is defined directly inside a class or function."
    ),
    EdgeKind(
        "DEFINED_BY",
        ("Symbol",),
        ("File", "Class", "Function"),
        "A version of the symbol. With CALLS it makes call paths: -[:CALLS|DEFINED_BY*1..8]->.",
    ),
    EdgeKind(
        "INHERITS",
        ("Class",),
        ("Symbol", "External"),
        "A base of the class.",
        (
            integer("order", "position among the bases, from 0", True),
            text("text", "source text of the base"),
            text("basis", "'exact', 'several', 'modelled' or 'likely'", True),
        ),
    ),
    EdgeKind(
        "IMPORTS",
        ("File",),
        ("Symbol", "External"),
        "The file imports the module or name.",
        (
            integer("line", "1-based line", True),
            text("alias", "the name it is bound to"),
            flag("star", "from m import *"),
        ),
    ),
    EdgeKind(
        "CALLS",
        _CALLERS,
        ("Symbol", "External"),
        "A call site. Parallel edges are different sites.",
        (
            *_SITE,
            flag("implied", "what syntax does not show: a called module's forward, a constructed class's __init__"),
        ),
    ),
    EdgeKind(
        "CONSTRUCTS",
        _CALLERS,
        ("Symbol", "External"),
        "A call site whose callee is a class.",
        (
            *_SITE,
            texts("arguments", "source text of the arguments, cut"),
            text("bound_to", "target of the assignment: self.attn"),
        ),
    ),
    EdgeKind(
        "REFERS",
        _CALLERS,
        ("Symbol", "External"),
        "A function or class that is used as a value: passed on, stored, returned, a decorator.",
        _SITE,
    ),
    EdgeKind(
        "READS",
        _CALLERS,
        ("Symbol",),
        "A field of a configuration class, or a module-level name, that is read.",
        _SITE,
    ),
    EdgeKind(
        "UNRESOLVED_CALL",
        _CALLERS,
        ("Reason",),
        "A call site without a target: kept with its text, what is known of it, and the reason.",
        (
            integer("line", "1-based line of the site", True),
            integer("col", "0-based column, in characters, of the callee's name"),
            text("text", "source text of the callee, cut", True),
            text("prefix", "the part that is known: torch.Tensor, self.model, ..."),
            text("author", "the pass that gave up", True),
        ),
    ),
    EdgeKind(
        "MOVED_TO",
        ("File", "Class", "Function"),
        ("File", "Class", "Function"),
        "The same thing at a later commit, in another version. The nodes say where it stood and stands.",
        (
            text("status", "'shifted', 'edited', 'moved', 'renamed', 'split', 'ambiguous'", True),
            text("evidence", "what says so", True),
            text("old_commit", "id of the Commit it was", True),
            text("new_commit", "id of the Commit it is", True),
        ),
    ),
)
