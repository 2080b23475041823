"""SQL for stewards: statements become the requests that they stand for, and policies become statements."""

from tableveil.statements.execute import changes, execute
from tableveil.statements.parse import parse
