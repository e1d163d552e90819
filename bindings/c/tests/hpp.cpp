// motte.hpp: what it throws, what it keeps and lets go, what callbacks throw. Run under the address sanitizer.
#include "motte.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <thread>

static int passed, failed;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            passed++;                                                                                                  \
        } else {                                                                                                       \
            failed++;                                                                                                  \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                       \
        }                                                                                                              \
    } while (0)

template <typename Body> static motte_status code_of(Body &&body) {
    try {
        body();
    } catch (const motte::Error &error) {
        CHECK(*error.what() != 0 && error.category() != MOTTE_CATEGORY_NONE);
        return error.code();
    }
    return MOTTE_OK;
}

static const char schema[] = "Person { name: string key, age: int?, height: double?, code: uuid?, at: timestamp?, "
                             "blob: data?, boss: link<Person>, friends: list<Person>, tags: set<string>, "
                             "scores: map<int>, any: mixed }  Dog { name: string }";

static motte::Realm open(const char *identifier) {
    return motte::Realm(motte::Config().inMemory(identifier).schema(schema));
}

static void values() {
    motte::Realm realm = open("values");
    const motte_uuid code = {{1, 2, 3}};
    const std::byte bytes[] = {std::byte{0}, std::byte{255}};
    realm.write([&] {
        motte::Object ada = realm.add("Person", {{"name", "Ada"}, {"age", 36}, {"height", 1.7}, {"code", code}});
        CHECK(ada.get<std::int64_t>("age") == 36 && ada.get<double>("height") == 1.7);
        CHECK(ada.get<std::string>("name") == "Ada" && ada.get<std::string_view>("name") == "Ada");
        CHECK(std::memcmp(&code, &static_cast<const motte_uuid &>(ada.get<motte_uuid>("code")), sizeof code) == 0);
        CHECK(!ada.get<std::optional<motte_timestamp>>("at"));
        CHECK(code_of([&] { ada.get<motte_timestamp>("at"); }) == MOTTE_E_WRONG_TYPE);
        CHECK(code_of([&] { ada.get<std::int64_t>("name"); }) == MOTTE_E_WRONG_TYPE);
        ada.set("at", motte_timestamp{5, 6, 0});
        CHECK(ada.get<motte_timestamp>("at").nanoseconds == 6);
        ada.set("blob", motte::Value::data(bytes, 2));
        CHECK(ada.get<std::vector<std::byte>>("blob").back() == std::byte{255});
        ada.set("age", nullptr);
        CHECK(!ada.get<std::optional<std::int64_t>>("age"));
        ada.set("age", std::optional<int>(7));
        CHECK(ada.add("age", 5) == 12);
        ada.set("any", std::string("text"));
        CHECK(ada.get<std::optional<std::string>>("any") == "text");
        ada.set("any", true);
        CHECK(ada.get<bool>("any"));
        ada.set("boss", ada);
        CHECK(ada.object("boss") == ada);
        ada.set("boss", nullptr);
        CHECK(!ada.object("boss"));
    });
    try {
        realm.query("Person", "nme == 'x'");
        CHECK(false);
    } catch (const motte::Error &error) {
        CHECK(error.code() == MOTTE_E_UNKNOWN_PROPERTY && error.category() == MOTTE_CATEGORY_SCHEMA);
        CHECK(std::string(error.what()).find("did you mean 'name'?") != std::string::npos);
        CHECK(error.queryOffset() == 0 && std::string(error.name()) == "MOTTE_E_UNKNOWN_PROPERTY");
    }
    CHECK(code_of([&] { realm.all("Persn"); }) == MOTTE_E_UNKNOWN_CLASS);
}

// Only a bool becomes one: an address that is passed by mistake does not compile.
static_assert(std::is_convertible_v<bool, motte::Value> && !std::is_convertible_v<motte::Object *, motte::Value> &&
              !std::is_convertible_v<void *, motte::Value> && std::is_convertible_v<const char *, motte::Value>);

static void transactions() {
    motte::Realm realm = open("transactions");
    try {
        realm.write([&] {
            realm.add("Person", {{"name", "Eve"}});
            throw std::logic_error("no");
        });
        CHECK(false);
    } catch (const std::logic_error &) { CHECK(!realm.isInWrite() && realm.all("Person").empty()); }
    const std::size_t count = realm.write([&] {
        realm.add("Person", {{"name", "Ada"}});
        return realm.all("Person").size();
    });
    std::string text = "kept";
    std::string &same = realm.write([&]() -> std::string & { return text; });
    CHECK(&same == &text);
    CHECK(count == 1 && realm.find("Person", "Ada") && !realm.find("Person", "Eve"));
    CHECK(code_of([&] { realm.write([&] { realm.add("Person", {{"name", "Ada"}}); }); }) ==
          MOTTE_E_DUPLICATE_PRIMARY_KEY);
    CHECK(!realm.isInWrite());
    CHECK(code_of([&] { realm.add("Person", {{"name", "Bob"}}); }) == MOTTE_E_NOT_IN_WRITE);
    CHECK(realm.addSchema("Cat { lives: int }") && !realm.addSchema("Cat { lives: int }"));
    CHECK(realm.eraseClass("Cat") && !realm.eraseClass("Cat"));
}

static void collections() {
    motte::Realm realm = open("collections");
    realm.write([&] {
        motte::Object boss = realm.add("Person", {{"name", "Grace"}, {"age", 85}});
        for (const char *name : {"Ada", "Bob", "Cleo"}) {
            motte::Object person = realm.add("Person", {{"name", name}, {"age", 30}, {"boss", boss}});
            boss.collection("friends").append(person);
        }
        boss.collection("tags").insert("a");
        CHECK(!boss.collection("tags").insert("a"));
        boss.collection("scores").put("chess", 9);
        CHECK(boss.collection("scores").at<std::int64_t>("chess") == 9);
        CHECK(!boss.collection("scores").at<std::int64_t>("go"));
    });
    std::string names;
    for (motte::Object person : realm.query("Person", "age < $0", {50}).sort({{"name", false}})) {
        names += person.get<std::string>("name") + " ";
    }
    CHECK(names == "Cleo Bob Ada ");
    const motte::Collection all = realm.all("Person"), none = realm.query("Person", "age > 100");
    CHECK(all.size() == 4 && none.empty() && none.begin() == none.end() && !none.first());
    CHECK(code_of([&] { all[9]; }) == MOTTE_E_OUT_OF_BOUNDS);
    CHECK(std::count_if(all.begin(), all.end(), [](motte::Object one) { return one.object("boss").has_value(); }) == 3);
    motte::Collection::Iterator place = all.begin(), before = place++;
    CHECK(*before == all[0] && *place == all[1] && before != place);
    before = place;
    CHECK(before == place && *before == *place);
    const motte::Object first = all[0];
    CHECK(all.find(first) == 0u && first.clone() == first && first != all[1]);
    realm.write([&] {
        int visited = 0;
        for (motte::Object person : realm.all("Person").snapshot()) {
            person.erase();
            visited++;
            if (visited == 1) all[0].erase(); // passed over
        }
        CHECK(visited == 3);
    });
    CHECK(all.empty() && !first.isValid());
    CHECK(code_of([&] { first.get<std::int64_t>("age"); }) == MOTTE_E_OBJECT_DELETED);
}

static void ownership() {
    motte::Realm realm = open("ownership");
    motte::Object ada = realm.write([&] { return realm.add("Person", {{"name", "Ada"}}); });
    motte::Object moved = std::move(ada);
    CHECK(ada.handle() == nullptr && moved.isValid());
    CHECK(code_of([&] { ada.get<std::string>("name"); }) == MOTTE_E_NULL_ARGUMENT);
    motte::Object &same = moved;
    moved = std::move(same);
    CHECK(moved.isValid());
    const motte::Object frozen = moved.freeze();
    realm.write([&] { moved.set("age", 1); });
    CHECK(!frozen.get<std::optional<std::int64_t>>("age") && frozen.thaw(realm)->get<std::int64_t>("age") == 1);
    motte::Reference reference(moved);
    std::thread([&reference] {
        motte::Realm here = open("ownership");
        std::optional<motte::Object> found = reference.resolve(here);
        CHECK(found && found->get<std::int64_t>("age") == 1);
    }).join();
    CHECK(code_of([&] {
              std::thread([&] {
                  CHECK(code_of([&] { moved.get<std::int64_t>("age"); }) == MOTTE_E_WRONG_THREAD);
              }).join();
          }) == MOTTE_OK);
    realm.close();
    CHECK(code_of([&] { moved.get<std::int64_t>("age"); }) == MOTTE_E_CLOSED);
}

static void callbacks() {
    motte::Queue queue;
    motte::Realm realm(motte::Config().inMemory("callbacks").schema(schema).queue(queue));
    motte::Collection all = realm.all("Person");
    auto counted = std::make_shared<int>(0);
    std::optional<motte::Changes> kept;
    {
        motte::Token token = all.observe([&kept, counted](const motte::Changes &changes) {
            ++*counted;
            if (changes.isInitial()) return;
            if (changes.insertions().size() == 2) throw std::out_of_range("two");
            if (changes.insertions().size() == 3) throw 3;
            kept.emplace(motte::Changes(motte::Handle<motte_changes>([&] {
                void *own = nullptr;
                motte::check(motte_clone(changes.get(), &own));
                return static_cast<motte_changes *>(own);
            }())));
        });
        CHECK(counted.use_count() == 2);
        queue.dispatch();
        CHECK(*counted == 1);
        realm.write([&] { realm.add("Person", {{"name", "a"}}); });
        CHECK(*counted == 2 && kept && kept->insertions() == std::vector<std::size_t>{0});
        // A commit does not fail for what an observer throws.
        realm.write([&] {
            realm.add("Person", {{"name", "b"}});
            realm.add("Person", {{"name", "c"}});
        });
        CHECK(!realm.isInWrite() && all.size() == 3 && *counted == 3);
        const auto elsewhere = [&queue](std::vector<const char *> names) {
            std::thread([&names] {
                motte::Realm other = open("callbacks");
                other.write([&] {
                    for (const char *name : names) other.add("Person", {{"name", name}});
                });
            }).join();
            CHECK(queue.fd() >= 0 && queue.wait(10000));
        };
        elsewhere({"d", "e"});
        try {
            queue.dispatch();
            CHECK(false);
        } catch (const std::out_of_range &error) { CHECK(std::string(error.what()) == "two"); }
        elsewhere({"f", "d2", "d3"});
        try {
            queue.dispatch();
            CHECK(false);
        } catch (int code) { CHECK(code == 3); }
        // What was thrown belongs to the failure of its call: the next one, of a callback in C, has its own.
        motte_token *refusing = nullptr;
        motte::check(motte_observe_realm(
            realm.handle(), 0, [](void *, const motte_changes *) -> motte_status { return 7; }, nullptr, nullptr,
            &refusing));
        const motte::Handle<motte_token> held(refusing);
        elsewhere({"d4"});
        CHECK(code_of([&] { queue.dispatch(); }) == MOTTE_E_CALLBACK && *counted == 6);
        motte::check(motte_token_stop(held.get()));
        elsewhere({"g"});
        queue.dispatch();
        CHECK(*counted == 7 && all.size() == 10);
        CHECK(kept && !kept->isFailed());
        kept->check();
    }
    CHECK(counted.use_count() == 1);
    CHECK(code_of([&] { realm.write([&] { (void)all.observe([counted](const motte::Changes &) {}); }); }) ==
          MOTTE_E_ALREADY_IN_WRITE);
    CHECK(counted.use_count() == 1);
    motte::Token polled = all.observe();
    CHECK(polled.next()->isInitial() && !polled.next());
    motte::Collection sorted = realm.query("Person", "TRUEPREDICATE SORT(name ASC)");
    motte::Token moving = sorted.observe();
    CHECK(moving.next()->isInitial());
    realm.write([&] { realm.add("Person", {{"name", "A"}, {"age", 1}}); });
    CHECK(moving.next()->moves().empty());
    motte::Collection aged = realm.query("Person", "TRUEPREDICATE SORT(age DESC, name ASC)");
    motte::Token aging = aged.observe();
    CHECK(aging.next()->isInitial());
    realm.write([&] { aged[3].set("age", 2); });
    CHECK((aging.next()->moves() == std::vector<std::pair<std::size_t, std::size_t>>{{3, 0}}));
    motte::Token whole = realm.observe();
    realm.addSchema("Bird { name: string }");
    CHECK(whole.next()->isSchema());
}

int main() {
    values();
    transactions();
    collections();
    ownership();
    callbacks();
    CHECK(motte_handle_count(MOTTE_HANDLE_NONE) == 0);
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
