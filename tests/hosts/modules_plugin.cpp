/* SPDX-License-Identifier: MIT */
/* Code to be mapped: see modules.cpp. */

extern "C" int new_code(int number);

extern "C" int new_code(int number)
{
	return number + 1;
}
