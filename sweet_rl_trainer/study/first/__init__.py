"""The report of the first study, from its published results: `docs/reproduction.md` and `docs/finetuned/`."""
