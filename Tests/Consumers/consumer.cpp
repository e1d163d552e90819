// SPDX-License-Identifier: Apache-2.0
// The header serves C++ as it is.
#include <motte.h>
#include <iostream>

int main() {
    motte_config *config = nullptr;
    if (motte_config_new(&config) != MOTTE_OK) return 1;
    motte_release(config);
    std::cout << "motte " << motte_version_string() << std::endl;
    return motte_check_abi(MOTTE_ABI_VERSION, MOTTE_ABI_LAYOUT);
}
