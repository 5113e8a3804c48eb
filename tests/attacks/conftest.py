"""What the end-to-end tests stand on, for whoever attacks: each script here runs alone, too.

WEIR=/path/to/weir pytest tests/attacks/test_models.py
"""
import importlib.util
import pathlib
import sys

E2E = pathlib.Path(__file__).resolve().parents[1] / "e2e"
sys.path.insert(0, str(E2E))
spec = importlib.util.spec_from_file_location("weir_e2e", E2E / "conftest.py")
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)
globals().update({name: value for name, value in vars(fixtures).items() if not name.startswith("__")})
