#!/bin/bash
# Random faults of measured processes; see faults_test.py.
exec python3 tools/micro/faults_test.py
