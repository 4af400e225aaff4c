"""The tables of the contract as data: every state and every request of a task and of a job, and the traps of PROTOCOL 7."""
