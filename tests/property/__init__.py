"""Random requests on the engine and on the reference model, compared after each request.

``strategies`` draws abstract operations, ``resolve`` turns them into envelopes that fit
the stored rows, ``judge`` runs both sides and compares them. The judge does not depend
on the generator.
"""
