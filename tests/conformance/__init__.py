"""What PROTOCOL.md says, as tests: tables held as data, checkers beside them."""
