"""From the job graph in a store to records in files. Exporters only project rows: they never read source."""
