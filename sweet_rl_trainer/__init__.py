"""SWEET-RL: training of collaborative agents on dialogues recorded by the harness, `colbench`."""
