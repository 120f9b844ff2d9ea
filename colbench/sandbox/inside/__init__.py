"""Code that runs inside the sandbox: standard library only, and never imported by the harness."""
