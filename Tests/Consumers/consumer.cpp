// SPDX-License-Identifier: Apache-2.0
// The headers serve C++ as they are installed, and so do the wrappers.
#include <motte.h>
#include <motte.hpp>
#include <iostream>

int main() {
    std::cout << "motte " << motte_version_string() << std::endl;
    motte::Realm realm(motte::Config().inMemory("consumer").schema("Person { name: string key }"));
    realm.write([&] { realm.add("Person", {{"name", "Ada"}}); });
    for (const motte::Object &person : realm.all("Person")) {
        if (person.get<std::string>("name") != "Ada") return 1;
    }
    return motte_check_abi(MOTTE_ABI_VERSION, MOTTE_ABI_LAYOUT);
}
