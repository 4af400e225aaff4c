"""What docs/spec/protocol.md says, as tests: tables held as data, checkers beside them."""
