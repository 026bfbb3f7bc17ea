# SPDX-License-Identifier: Apache-2.0
value = 44


def _update_default_pg(pg):
    """As torch's: every default group, and None when it is taken down."""
    global default
    default = pg
