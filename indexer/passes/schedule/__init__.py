"""Schedule passes: from the trace of one abstract run to the rows of ``execution_schedule.json``.

Each category has one file and one function; :func:`cgx.indexer.passes.schedule.build.schedule_rows` puts them together.
"""
