"""Code that runs inside the sandbox. It uses only the standard library, and the harness never imports it."""
