"""The engine and the reference model, driven in step by random requests.

``strategies`` draws abstract operations, ``resolve`` turns them into envelopes that fit
what is stored, ``judge`` runs both sides and compares them. The judge knows nothing of
the generator.
"""
