/* motte_inline.h is C and C++ too; used from every function so that none of it goes unread. */
#include "motte_inline.h"

int main(void) {
    motte_value values[8];
    values[0] = motte_bool(1);
    values[1] = motte_int(-1);
    values[2] = motte_float(0.5f);
    values[3] = motte_double(0.5);
    values[4] = motte_string("text");
    values[5] = motte_data("bytes", 5);
    values[6] = motte_timestamp_value(-1, 500000000);
    values[7] = motte_link(0, 3);
    return values[1].as.integer == -1 && values[4].as.string.size == 4 && motte_string(NULL).type == 0 ? 0 : 1;
}
