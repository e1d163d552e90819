/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOTTE_H
#define MOTTE_H
#include <stdint.h>
#include <stddef.h>
#include <stdbool.h>
#endif
