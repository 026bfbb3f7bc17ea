# SPDX-License-Identifier: Apache-2.0
value = 44
