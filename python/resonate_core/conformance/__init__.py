"""Whether a server follows the contract: a reference model, the tables of the contract, and judges that compare a server with both.

`resonate_core.conformance.reference` is the model, `resonate_core.conformance.tables` the tables, `resonate_core.conformance.linearizable`
judges histories of several clients. The command ``resonate-core conformance`` judges a server by its URL.
"""
