#!/bin/bash
# The independent recount of a mixture's batches; see recount_test.py.
cd tools/mixture && exec python3 -B recount_test.py
