#include <malloc.h> /* malloc_trim, which the Glibc module leaves out */
#include <sqlite3.h>
