"""
${message}

A migration is written once and never follows the program: it names what it makes, and imports none of it. Where
`memories` is made anew, its triggers (keyword search) go with the old table: make them again.
"""

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    raise NotImplementedError("there is no way back to an older schema: use the copy made before the migration")
