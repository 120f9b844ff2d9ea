"""`python -m sweet_rl_trainer.cli`."""

import sys

from sweet_rl_trainer.cli import main

sys.exit(main())
