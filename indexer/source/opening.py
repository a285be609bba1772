"""From what the user named to a tree."""

from __future__ import annotations

from pathlib import Path

from cgx.errors import UserError
from cgx.indexer.source.base import Tree
from cgx.indexer.source.commit_tree import CommitTree, list_commit
from cgx.indexer.source.folder_tree import EnvironmentTree, FolderTree, WorkTree
from cgx.indexer.source.git import Repository, find_repository, short_digest, without_credentials


def open_tree(source: str | Path, rev: str | None = None, worktree: bool = False, env: bool = False) -> Tree:
    """Open SOURCE: a commit of a repository, its work tree, a folder inside one, or a plain folder.

    ``env`` opens a folder of third-party source, lazily. Raises UserError where SOURCE or the revision is not there, or
    where a revision is asked of a folder that is in no repository.
    """
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise UserError(f"{source}: {'is a file; give its folder' if folder.exists() else 'no such folder'}")
    folder = folder.resolve()
    if env:
        return EnvironmentTree(folder, folder.name)
    repository = find_repository(folder)
    if repository is None:
        if rev is not None:
            raise UserError(f"{source} is not in a git repository, so it has no revision {rev!r}; leave --rev out")
        return _plain(folder)
    return _open_repository(repository, folder, rev, worktree)


def _open_repository(repository: Repository, folder: Path, rev: str | None, worktree: bool) -> Tree:
    top = repository.top
    prefix = "" if top is None or folder == top else folder.relative_to(top).as_posix()
    name = repository.remote_name or repository.folder_name
    key = f"{name}-{repository.identity}"
    if worktree:
        if top is None:
            raise UserError(f"{folder} is a bare repository and has no work tree; leave --worktree out")
        try:
            commit: str | None = repository.resolve("HEAD")
        except UserError:
            commit = None
        tree: Tree = WorkTree(repository, folder, name, commit, prefix)
    else:
        commit = repository.resolve("HEAD" if rev is None else rev)
        if rev is None and prefix and not list_commit(repository, commit, prefix):
            # A folder that git ignores (unzipped wheels inside a project): its files are all there is.
            return _plain(folder)
        tree = CommitTree(repository, commit, prefix, name, folder)
    tree.repository_key = key
    tree.remote = without_credentials(repository.remote_url)
    return tree


def _plain(folder: Path) -> FolderTree:
    tree = FolderTree(folder, folder.name)
    tree.repository_key = f"{folder.name}-{short_digest(str(folder))}"
    return tree
