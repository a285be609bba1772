"""Node and edge kinds of a job's graph: what the two records state, one node an entry.

``entry_json`` of an entry node is the entry as the record states it, key for key; the other properties are the parts of it
that queries ask for, flattened by :func:`cgx.model.job_entries.job_delta`. Exporters read ``entry_json`` in the order of
``HAS_ENTRY``; the record's ``type`` is the property ``type_name`` here (``type`` and ``title`` are no safe property names).
"""

from __future__ import annotations

from cgx.model.schema_rows import EdgeKind, NodeKind, flag, integer, json_text, text, texts

_ENTRY = (
    text("name", "short form for people", True),
    text("entry", "the entry's id in the record, else its position", True),
    text("job", "id of the Job", True),
    text("anchor", "the entry's code_anchor; absent where only the launch line says it"),
    text("path", "path part of the anchor, at the root the job was read from"),
    text("symbol", "symbol part of the anchor"),
    integer("line", "line part of the anchor"),
    json_text("entry_json", "the entry as the record states it", True),
    text("author", "the pass, table row or overlay that says so"),
    text("basis", "'exact', 'modelled' or 'likely'"),
    texts("via", "call sites from the step, or the script's top, down to the entry: the path to it"),
)
_REPEAT = (
    text("repeat_unit", "what repeats"),
    integer("repeat_count", "how often; absent where unknown"),
    text("repeat_by", "'instances' or 'calls'"),
    text("repeat_expr", "source text of the bound"),
    text("repeat_anchor", "where the bound stands"),
)
_GRAPH = (
    text("parent", "entry id of the enclosing entry"),
    integer("order", "position among the entries of one parent, from 0; absent where it does not run"),
    flag("runs", "false where it is built but the step never runs it", True),
    integer("multiplicity", "runs per step; absent where unknown"),
    integer("recomputed", "how often the forward runs again for activation checkpointing"),
    text("phase", "prefill, decode, ... where one model runs as several graphs"),
    text("when_text", "condition of the undecided branch it stands on"),
    integer("depth", "0 for a root", True),
    *_REPEAT,
)
_TIME = (
    text("phase", "name of the phase"),
    text("per", "innermost unit that holds it: job, epoch, step, micro-step, request, token, denoising step"),
    integer("every", "period in that unit"),
    text("guard", "source text of the guard"),
    integer("repeat", "times within one such unit"),
    text("ranks", "'all', 'rank 0' or the guard's text"),
    text("module", "path of the module whose forward holds it"),
    json_text("frequency_json", "the frequency as the record states it"),
)

JOB_NODES: tuple[NodeKind, ...] = (
    NodeKind(
        "Job",
        "job",
        "One job: a launch line, or a build expression, at a commit. Holds the header of both records.",
        "digest of commit, launch or build, inputs, mode, --set, --file and --env",
        (
            text("name", "short form for people", True),
            text("job_type", "'training', 'inference serving' or 'batch'; absent for a build"),
            text("commit", "id of the Commit", True),
            texts("launch", "the launch line as words"),
            text("build", "the build expression"),
            text("mode", "'train' or 'eval'"),
            text("entrypoint", "anchor of the step"),
            integer("world_size", "processes of the job"),
            json_text("header_json", "the header of the records, without schema and generator", True),
            json_text("symbols_json", "symbolic dims as the record states them"),
            json_text("compute_json", "keys of the record's compute object, in order"),
        ),
        ("commit",),
    ),
    NodeKind(
        "ModuleEntry",
        "job",
        "A model, module or layer of the computation graph: one nn.Module, or equal siblings folded into one.",
        "'<job id>/<entry>'",
        (
            *_ENTRY,
            text("level", "'model', 'module' or 'layer'", True),
            text("module_path", "the name named_modules() gives, folded: transformer.h.[0-11].attn"),
            text("type_name", "qualified name of the class", True),
            text("constructed_at", "anchor of the constructor call"),
            texts("called_from", "anchors of the calls that run it"),
            texts("wrapped_by", "wrappers that add no name to the tree"),
            text("shares", "module_path of the module whose parameters it shares"),
            integer(
                "parameter_count", "numbers in the parameters it owns itself, of one instance; absent where unknown"
            ),
            json_text("shapes_json", "shapes in and out"),
            json_text("parameters_json", "parameter shapes by name"),
            *_GRAPH,
        ),
        ("job", "type_name", "module_path"),
    ),
    NodeKind(
        "OpEntry",
        "job",
        "An op: a call or operator on tensors in the computation graph.",
        "'<job id>/<entry>'",
        (
            *_ENTRY,
            text("type_name", "qualified name of the op", True),
            integer("end_line", "where the expression ends"),
            json_text("shapes_json", "shapes in and out"),
            *_GRAPH,
        ),
        ("job", "type_name"),
    ),
    NodeKind(
        "LoopEntry",
        "job",
        "A forward-time or step-time loop round the entries inside it.",
        "'<job id>/<entry>'",
        (*_ENTRY, text("type_name", "kind of loop"), *_GRAPH),
        ("job",),
    ),
    NodeKind(
        "Dim",
        "job",
        "A symbolic dimension of the shapes.",
        "'<job id>/dim/<name>'",
        (*_ENTRY, integer("value", "where known"), text("expr", "source text that gives it")),
        ("job",),
    ),
    NodeKind(
        "Phase",
        "job",
        "A phase of the schedule.",
        "'<job id>/phases/<position>'",
        (
            *_ENTRY,
            integer("order", "position, from 0", True),
            text("kind", "'one-off', 'repeated' or 'periodic'"),
            integer("every_count", "period"),
            text("every_unit", "unit of the period"),
            text("every_expr", "source text of the period"),
            text("every_guard", "source text of the guard"),
            integer("repeat", "times per step"),
            text("runs_on", "'host', 'device' or 'host and device'"),
            text("ranks", "'all', 'rank 0' or the guard's text"),
        ),
        ("job",),
    ),
    NodeKind(
        "Hop",
        "job",
        "A hop of the data path from storage to the device.",
        "'<job id>/data_path/<position>'",
        (
            *_ENTRY,
            integer("order", "position along the path, from 0", True),
            text(
                "hop",
                "'read', 'decode', 'transform', 'sample', 'collate', 'worker queue', 'pin', 'prefetch' or 'copy'",
                True,
            ),
            text("by", "qualified name of what does it"),
            integer("workers", "processes or threads, other than the step's own"),
            flag("asynchronous", "it overlaps the step"),
            flag("blocks_step", "the step waits for it"),
            integer("repeat", "times"),
        ),
        ("job",),
    ),
    NodeKind(
        "Copy",
        "job",
        "A copy between host and device.",
        "'<job id>/copies/<position>'",
        (
            *_ENTRY,
            text("direction", "'H2D' or 'D2H'"),
            text("what", "source text of what is copied"),
            text("source", "'pinned' or 'pageable'; absent where unknown"),
            flag("non_blocking", "as the call says"),
            flag("blocks_host", "the host waits for it"),
            integer("bytes", "where derivable"),
            *_TIME,
        ),
        ("job",),
    ),
    NodeKind(
        "Sync",
        "job",
        "A place where the host waits for the device.",
        "'<job id>/syncs/<position>'",
        (
            *_ENTRY,
            text(
                "kind", "item, cpu, numpy, tolist, synchronize, print, branch, conversion, dynamic shape, other", True
            ),
            text("what", "source text"),
            *_TIME,
        ),
        ("job",),
    ),
    NodeKind(
        "Collective",
        "job",
        "A collective or point-to-point transfer between devices.",
        "'<job id>/device_device/<position>'",
        (
            *_ENTRY,
            text("collective", "all_reduce, all_gather, reduce_scatter, broadcast, ... (Chakra's names)", True),
            text("parallelism", "'data', 'tensor', 'pipeline', 'expert' or 'sequence'"),
            text("process_group", "source text of the group"),
            flag("blocking", "compute or the issuing code waits for it"),
            flag("async_op", "as the call says"),
            text("issued_by", "'call', or the wrapper"),
            text("waited_at", "anchor of the wait"),
            integer("bytes", "where derivable"),
            *_TIME,
        ),
        ("job",),
    ),
    NodeKind(
        "Compute",
        "job",
        "One statement about the compute of a step: precision, optimizer, accumulation, compile, checkpointing, ...",
        "'<job id>/compute/<key>/<position>'",
        (
            *_ENTRY,
            text("item", "key in the record's compute object", True),
            text("value", "its value as text"),
            text("expr", "source text"),
            *_TIME,
        ),
        ("job", "item"),
    ),
    NodeKind(
        "Overlap",
        "job",
        "What is meant to run at the same time as something else.",
        "'<job id>/overlap/<position>'",
        (
            *_ENTRY,
            text("what", "what runs aside"),
            text("overlaps_with", "what it runs beside"),
            text("stream", "source text of the stream"),
            text("mechanism", "side stream, non_blocking copy, bucketed all_reduce, ..."),
            text("joined_at", "anchor where it is waited for"),
        ),
        ("job",),
    ),
    NodeKind(
        "JobLoop",
        "job",
        "A loop of the job outside a model's forward: epochs, steps, micro-steps, evaluation batches, requests.",
        "'<job id>/loops/<position>'",
        (
            *_ENTRY,
            text("unit", "what one turn is"),
            integer("count", "turns; absent where unknown"),
            text("expr", "source text of the bound"),
            text("inside", "name of the phase it stands in"),
        ),
        ("job",),
    ),
    NodeKind(
        "UnresolvedEntry",
        "job",
        "Something that could not be derived: with the reason and what would settle it.",
        "'<job id>/unresolved/<record>/<position>'",
        (
            *_ENTRY,
            text("record", "'graph' or 'schedule'", True),
            text("field", "the field that is missing"),
            text("about", "id of the entry that it is missing from"),
            text("reason", "row of the table of reasons", True),
            text("option", "option that would settle it"),
            text("option_name", "name for that option"),
        ),
        ("job", "reason"),
    ),
)

TREE = ("ModuleEntry", "OpEntry", "LoopEntry")
EVENTS = ("Hop", "Copy", "Sync", "Collective", "Compute", "Overlap", "JobLoop")
ENTRIES = (*TREE, "Dim", "Phase", *EVENTS, "UnresolvedEntry")

JOB_EDGES: tuple[EdgeKind, ...] = (
    EdgeKind("OF", ("Job",), ("Commit",), "The commit that the job was read at."),
    EdgeKind(
        "HAS_ENTRY",
        ("Job",),
        ENTRIES,
        "An entry of the job's records.",
        (
            text("section", "key of the record's list: modules, phases, data_path, copies, syncs, ...", True),
            integer("order", "position in that list, from 0", True),
        ),
    ),
    EdgeKind(
        "CHILD",
        TREE,
        TREE,
        "The enclosing entry holds this one. Depth first by order gives execution order.",
        (integer("order", "position among the entries of one parent, from 0; absent where it does not run"),),
    ),
    EdgeKind("IN_PHASE", EVENTS, ("Phase",), "The phase it happens in."),
    EdgeKind("IN_MODULE", EVENTS, ("ModuleEntry",), "The module whose forward holds it."),
    EdgeKind("INSTANCE_OF", TREE, ("Symbol", "External"), "The class of the module, or the op's qualified name."),
    EdgeKind("RUNS_AT", ENTRIES, ("Symbol",), "The function whose code holds the entry's anchor."),
    EdgeKind("CONSTRUCTED_AT", ("ModuleEntry",), ("Symbol",), "The function whose code constructs it."),
    EdgeKind("SHARES", ("ModuleEntry",), ("ModuleEntry",), "Its parameters are those of the other."),
    EdgeKind("MISSING_FROM", ("UnresolvedEntry",), ENTRIES, "The entry that lacks the value."),
    EdgeKind("BECAUSE", ("UnresolvedEntry",), ("Reason",), "Why it is not known."),
)
