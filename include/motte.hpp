// SPDX-License-Identifier: Apache-2.0
//
// motte.hpp: Motte for C++17, thin wrappers around motte.h. Header only; nothing here adds to the ABI.
//
//   motte::Realm realm("people.motte", "Person { name: string key, age: int }");
//   realm.write([&] { realm.add("Person", {{"name", "Ada"}, {"age", 36}}); });
//   for (motte::Object person : realm.query("Person", "age >= $0", {18})) {
//       std::cout << person.get<std::string>("name") << '\n';
//   }
//
// What holds everywhere:
//
//   errors     A call that fails throws motte::Error, with the code, the category and the message of motte.h. Outcomes
//              that are no failures are values: std::optional, bool.
//   ownership  Every object owns one handle, is moved and not copied (clone() makes a second handle), and releases it
//              when it goes, from any thread. A moved-from one has none; using it throws Error with NULL_ARGUMENT.
//   views      A std::string_view that is read stays valid until something is written, committed or refreshed through
//              the realm; one that is read of a snapshot of values or of groups also only as long as that object. Read
//              std::string to keep it. What is passed in is copied by the call.
//   threads    As in motte.h: realms and what comes from them belong to the thread that opened them; frozen things, and
//              motte::Reference, go to any.
//   callbacks  Lambdas. An exception that leaves one is carried through the library and thrown again by the call that
//              ran it: refresh(), dispatch(). A commit does not fail for it.
#ifndef MOTTE_HPP
#define MOTTE_HPP

#include "motte.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace motte {

// ------------------------------------------------------------------------------------------------ errors

/// A call that failed. what() is the message: a sentence that says what to do.
class Error : public std::runtime_error {
public:
    /// The thread's last failure.
    explicit Error(motte_status code) : Error(code, lastDetails(code)) {}
    /// One that is found on this side.
    Error(motte_status code, const char *message) : Error(code, madeHere(code, message)) {}

    motte_status code() const noexcept { return code_; }
    motte_category category() const noexcept { return category_; }
    /// "MOTTE_E_WRONG_THREAD".
    const char *name() const noexcept { return motte_status_name(code_); }
    /// Of the class, property or file that it is about, or empty.
    const std::string &className() const noexcept { return className_; }
    const std::string &propertyName() const noexcept { return propertyName_; }
    const std::string &path() const noexcept { return path_; }
    /// Byte offset into the query text, or -1.
    std::int64_t queryOffset() const noexcept { return queryOffset_; }

private:
    Error(motte_status code, const motte_error_details &details)
        : std::runtime_error(details.message ? details.message : motte_status_message(code)), code_(code),
          category_(details.category), className_(details.class_name ? details.class_name : ""),
          propertyName_(details.property_name ? details.property_name : ""), path_(details.path ? details.path : ""),
          queryOffset_(details.query_offset) {}

    /// The thread's last failure, if it is the one with this code.
    static motte_error_details lastDetails(motte_status code) noexcept {
        motte_error_details details{};
        details.struct_size = sizeof details;
        if (motte_last_error(&details) == MOTTE_OK && details.code == code) return details;
        return madeHere(code, nullptr);
    }

    static motte_error_details madeHere(motte_status code, const char *message) noexcept {
        motte_error_details details{};
        details.category = static_cast<motte_category>(code <= -1000 ? 10 : -code / 100);
        details.message = message;
        details.query_offset = -1;
        return details;
    }

    motte_status code_;
    motte_category category_;
    std::string className_, propertyName_, path_;
    std::int64_t queryOffset_;
};

namespace detail {

/// What a callback returns that an exception has left.
enum : motte_status { thrown = 0x4D6F7474 };

template <typename Function> void destroy(void *userdata) noexcept { delete static_cast<Function *>(userdata); }

/// The failure that the library makes of a callback keeps what it threw.
inline motte_status refuse(const char *message) noexcept {
    // A message that is not UTF-8 is refused, and the exception with it is freed; it is kept with another message then.
    for (const char *text : {message, "a callback threw an exception whose message is not UTF-8"}) {
        auto *exception = new (std::nothrow) std::exception_ptr(std::current_exception());
        if (motte_callback_fail(text, std::strlen(text), exception, destroy<std::exception_ptr>) >= 0) break;
    }
    return thrown;
}

/// Runs a callback within C, which no exception may cross.
template <typename Body> motte_status guarded(Body &&body) noexcept {
    try {
        body();
        return MOTTE_OK;
    } catch (const std::exception &error) { return refuse(error.what()); } catch (...) {
        return refuse("a callback threw what is no std::exception");
    }
}

/// Throws again what a callback of the call that has just failed threw, if one did.
inline void rethrow() {
    motte_error_details details{};
    details.struct_size = sizeof details;
    if (motte_last_error(&details) != MOTTE_OK || details.code != MOTTE_E_CALLBACK) return;
    if (details.user_code != thrown || !details.user_pointer) return;
    const std::exception_ptr exception = *static_cast<std::exception_ptr *>(details.user_pointer);
    std::rethrow_exception(exception);
}

} // namespace detail

/// Throws what a status below 0 stands for; passes the others on.
inline motte_status check(motte_status status) {
    if (status >= 0) return status;
    if (status == MOTTE_E_CALLBACK) detail::rethrow();
    throw Error(status);
}

/// The handle as a pointer of the kind that C declares.
template <typename T> class Handle {
public:
    Handle() noexcept = default;
    explicit Handle(T *handle) noexcept : handle_(handle) {}
    Handle(Handle &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Handle &operator=(Handle &&other) noexcept {
        if (this != &other) {
            reset();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { reset(); }

    T *get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /// Releases it now.
    void reset() noexcept { (void)motte_release(std::exchange(handle_, nullptr)); }
    /// Gives it up to who calls motte_release().
    T *release() noexcept { return std::exchange(handle_, nullptr); }

    /// A second handle to the same thing.
    Handle clone() const {
        void *other = nullptr;
        check(motte_clone(handle_, &other));
        return Handle(static_cast<T *>(other));
    }

    Handle frozen() const {
        void *other = nullptr;
        check(motte_freeze(handle_, &other));
        return Handle(static_cast<T *>(other));
    }

    /// The counterpart in a realm of this thread; none if it is not there.
    Handle thawed(motte_realm *realm) const {
        void *other = nullptr;
        check(motte_thaw(handle_, realm, &other));
        return Handle(static_cast<T *>(other));
    }

private:
    T *handle_ = nullptr;
};

// ------------------------------------------------------------------------------------------------ values

class Object;

/// A value to be written, or an argument of a query. Texts and bytes are borrowed until the call that takes it returns.
class Value {
public:
    Value() noexcept : Value(nullptr) {}
    Value(std::nullptr_t) noexcept : raw_{} {}
    /// Nothing but a bool: pointers would become one.
    template <typename Bool, std::enable_if_t<std::is_same_v<Bool, bool>, int> = 0>
    Value(Bool boolean) noexcept : raw_{} {
        raw_.type = MOTTE_TYPE_BOOL;
        raw_.as.boolean = boolean ? 1 : 0;
    }
    template <typename Integer,
              std::enable_if_t<std::is_integral_v<Integer> && !std::is_same_v<Integer, bool> &&
                                   (sizeof(Integer) < 8 || std::is_signed_v<Integer>),
                               int> = 0>
    Value(Integer integer) noexcept : raw_{} {
        raw_.type = MOTTE_TYPE_INT;
        raw_.as.integer = static_cast<std::int64_t>(integer);
    }
    Value(float single) noexcept : raw_{} {
        raw_.type = MOTTE_TYPE_FLOAT;
        raw_.as.single = single;
    }
    Value(double real) noexcept : raw_{} {
        raw_.type = MOTTE_TYPE_DOUBLE;
        raw_.as.real = real;
    }
    Value(std::string_view text) noexcept : raw_{} {
        raw_.type = MOTTE_TYPE_STRING;
        // A null has no address, the empty text has one.
        raw_.as.string.data = text.data() ? text.data() : "";
        raw_.as.string.size = text.size();
    }
    Value(const std::string &text) noexcept : Value(std::string_view(text)) {}
    Value(const char *text) noexcept : Value(std::string_view(text ? text : "")) {
        if (!text) raw_ = motte_value{};
    }
    Value(const motte_timestamp &time) noexcept : raw_{} {
        raw_.type = MOTTE_TYPE_TIMESTAMP;
        raw_.aux = time.nanoseconds;
        raw_.as.seconds = time.seconds;
    }
    Value(const motte_decimal &decimal) noexcept : raw_{} {
        raw_.type = MOTTE_TYPE_DECIMAL;
        raw_.as.decimal = decimal;
    }
    Value(const motte_object_id &id) noexcept : raw_{} {
        raw_.type = MOTTE_TYPE_OBJECT_ID;
        raw_.as.object_id = id;
    }
    Value(const motte_uuid &uuid) noexcept : raw_{} {
        raw_.type = MOTTE_TYPE_UUID;
        raw_.as.uuid = uuid;
    }
    inline Value(const Object &object);
    template <typename T> Value(const std::optional<T> &value) : Value(value ? Value(*value) : Value(nullptr)) {}
    explicit Value(const motte_value &raw) noexcept : raw_(raw) {}

    static Value data(const void *bytes, std::size_t size) noexcept {
        Value value;
        value.raw_.type = MOTTE_TYPE_DATA;
        value.raw_.as.data.data = bytes ? bytes : "";
        value.raw_.as.data.size = size;
        return value;
    }

    const motte_value &raw() const noexcept { return raw_; }
    motte_type type() const noexcept { return raw_.type; }
    bool isNull() const noexcept { return raw_.type == MOTTE_TYPE_NULL; }

private:
    motte_value raw_;
};

static_assert(sizeof(Value) == sizeof(motte_value), "arrays of Value are passed as arrays of motte_value");

/// A value for a property by its name.
struct Field {
    std::string_view name;
    Value value;
};

namespace detail {

[[noreturn]] inline void wrongType() {
    throw Error(MOTTE_E_WRONG_TYPE, "the value is null or of another type than the one that it is read as");
}

template <typename T> struct IsOptional : std::false_type {};
template <typename T> struct IsOptional<std::optional<T>> : std::true_type {};

/// What was read, as a type of C++. A null is an error for types that have none.
template <typename T> T as(const motte_value &value) {
    if constexpr (IsOptional<T>::value) {
        if (value.type == MOTTE_TYPE_NULL) return std::nullopt;
        return as<typename T::value_type>(value);
    } else if constexpr (std::is_same_v<T, bool>) {
        if (value.type == MOTTE_TYPE_BOOL) return value.as.boolean != 0;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
        if (value.type == MOTTE_TYPE_INT) return value.as.integer;
    } else if constexpr (std::is_same_v<T, double>) {
        if (value.type == MOTTE_TYPE_DOUBLE) return value.as.real;
        if (value.type == MOTTE_TYPE_FLOAT) return static_cast<double>(value.as.single);
        if (value.type == MOTTE_TYPE_INT) return static_cast<double>(value.as.integer);
    } else if constexpr (std::is_same_v<T, std::string_view>) {
        if (value.type == MOTTE_TYPE_STRING) return {value.as.string.data, value.as.string.size};
    } else if constexpr (std::is_same_v<T, std::string>) {
        if (value.type == MOTTE_TYPE_STRING) return {value.as.string.data, value.as.string.size};
    } else if constexpr (std::is_same_v<T, std::vector<std::byte>>) {
        if (value.type == MOTTE_TYPE_DATA) {
            const auto *bytes = static_cast<const std::byte *>(value.as.data.data);
            return {bytes, bytes + value.as.data.size};
        }
    } else if constexpr (std::is_same_v<T, motte_timestamp>) {
        if (value.type == MOTTE_TYPE_TIMESTAMP) return {value.as.seconds, value.aux, 0};
    } else if constexpr (std::is_same_v<T, motte_decimal>) {
        if (value.type == MOTTE_TYPE_DECIMAL) return value.as.decimal;
    } else if constexpr (std::is_same_v<T, motte_object_id>) {
        if (value.type == MOTTE_TYPE_OBJECT_ID) return value.as.object_id;
    } else if constexpr (std::is_same_v<T, motte_uuid>) {
        if (value.type == MOTTE_TYPE_UUID) return value.as.uuid;
    } else if constexpr (std::is_same_v<T, motte_value>) {
        return value;
    } else {
        static_assert(std::is_same_v<T, void>,
                      "read std::int64_t, bool, double, std::string, std::string_view, std::vector<std::byte>, "
                      "motte_timestamp, motte_decimal, motte_object_id, motte_uuid, or std::optional of these");
    }
    wrongType();
}

inline const motte_value *raw(const Value *values) noexcept { return reinterpret_cast<const motte_value *>(values); }

/// The elements of (array, capacity, count) functions.
template <typename T, typename Read> std::vector<T> all(Read &&read) {
    std::size_t count = 0;
    check(read(nullptr, 0, &count));
    std::vector<T> found(count);
    if (count > 0) check(read(found.data(), count, &count));
    return found;
}

} // namespace detail

// ------------------------------------------------------------------------------------------------ change sets

/// What changed; never changes itself and belongs to no thread.
class Changes {
public:
    explicit Changes(Handle<motte_changes> handle) : handle_(std::move(handle)) {}

    /// The state that observation starts from.
    bool isInitial() const { return (details().flags & MOTTE_CHANGES_INITIAL) != 0; }
    /// The object, or the owner of the collection, was deleted.
    bool isDeleted() const { return (details().flags & MOTTE_CHANGES_DELETED) != 0; }
    bool isSchema() const { return (details().flags & MOTTE_CHANGES_SCHEMA) != 0; }

    /// What changed could not be found out; check() throws why. The change set says nothing else.
    bool isFailed() const { return (details().flags & MOTTE_CHANGES_FAILED) != 0; }
    void check() const { motte::check(motte_changes_failure(get())); }

    std::vector<std::size_t> deletions() const {
        return detail::all<std::size_t>([&](auto... rest) { return motte_changes_deletions(get(), rest...); });
    }
    std::vector<std::size_t> insertions() const {
        return detail::all<std::size_t>([&](auto... rest) { return motte_changes_insertions(get(), rest...); });
    }
    /// New positions.
    std::vector<std::size_t> modifications() const {
        return detail::all<std::size_t>(
            [&](auto... rest) { return motte_changes_modifications(get(), nullptr, rest...); });
    }
    /// Elements that changed their place: old position, which is a deletion, and new one, which is an insertion.
    std::vector<std::pair<std::size_t, std::size_t>> moves() const {
        const auto from = detail::all<std::size_t>([&](std::size_t *found, std::size_t capacity, std::size_t *count) {
            return motte_changes_moves(get(), found, nullptr, capacity, count);
        });
        const auto to = detail::all<std::size_t>([&](std::size_t *found, std::size_t capacity, std::size_t *count) {
            return motte_changes_moves(get(), nullptr, found, capacity, count);
        });
        std::vector<std::pair<std::size_t, std::size_t>> moves;
        for (std::size_t index = 0; index < from.size(); index++) moves.emplace_back(from[index], to[index]);
        return moves;
    }
    std::vector<motte_prop> properties() const {
        return detail::all<motte_prop>([&](auto... rest) { return motte_changes_props(get(), rest...); });
    }

    motte_changes_details details() const {
        motte_changes_details details{};
        details.struct_size = sizeof details;
        motte::check(motte_changes_info(get(), &details));
        return details;
    }
    const motte_changes *get() const noexcept { return handle_.get(); }

private:
    Handle<motte_changes> handle_;
};

/// Observation of something, for as long as this lives.
class Token {
public:
    using Callback = std::function<void(const Changes &)>;

    explicit Token(Handle<motte_token> handle) : handle_(std::move(handle)) {}

    /// The next change set of a token without callback.
    std::optional<Changes> next() {
        motte_changes *changes = nullptr;
        if (check(motte_token_next(handle_.get(), &changes)) != MOTTE_OK) return std::nullopt;
        return Changes(Handle<motte_changes>(changes));
    }
    void stop() { check(motte_token_stop(handle_.get())); }
    motte_token *get() const noexcept { return handle_.get(); }

private:
    Handle<motte_token> handle_;
};

namespace detail {

inline motte_status deliver(void *userdata, const motte_changes *changes) {
    return guarded([&] {
        // The change set of a callback is not the callback's own.
        void *own = nullptr;
        check(motte_clone(changes, &own));
        (*static_cast<Token::Callback *>(userdata))(
            Changes(Handle<motte_changes>(static_cast<motte_changes *>(own))));
    });
}

/// Begins to observe; without a callback for Token::next().
template <typename Observe> Token observe(Token::Callback callback, Observe &&begin) {
    motte_token *token = nullptr;
    if (!callback) {
        check(begin(nullptr, nullptr, nullptr, &token));
    } else {
        auto kept = std::make_unique<Token::Callback>(std::move(callback));
        // Freed by the library from here on, also when it fails.
        check(begin(deliver, kept.release(), destroy<Token::Callback>, &token));
    }
    return Token(Handle<motte_token>(token));
}

} // namespace detail

// ------------------------------------------------------------------------------------------------ objects

class Collection;

/// An object; it follows its realm and throws OBJECT_DELETED once it is deleted.
class Object {
public:
    explicit Object(Handle<motte_object> handle) : handle_(std::move(handle)) {}

    /// get<std::int64_t>("age"), get<std::optional<std::string>>("name").
    template <typename T> T get(std::string_view name) const {
        motte_value value{};
        check(motte_object_get(handle(), prop(name), &value));
        return detail::as<T>(value);
    }
    /// Target of a link.
    std::optional<Object> object(std::string_view name) const {
        motte_object *target = nullptr;
        if (check(motte_object_get_object(handle(), prop(name), &target)) == MOTTE_NULL) return std::nullopt;
        return Object(Handle<motte_object>(target));
    }
    inline Collection collection(std::string_view name) const;

    /// set("age", 36), set("name", nullptr), set("boss", ada).
    void set(std::string_view name, const Value &value) {
        check(motte_object_set(handle(), prop(name), &value.raw()));
    }
    /// Adds to an int, and returns the sum.
    std::int64_t add(std::string_view name, std::int64_t delta) {
        std::int64_t sum = 0;
        check(motte_object_add_int(handle(), prop(name), delta, &sum));
        return sum;
    }
    /// Deletes the object itself.
    void erase() { check(motte_object_delete(handle())); }

    bool isValid() const noexcept { return motte_handle_check(handle()) == MOTTE_OK; }
    Object clone() const { return Object(handle_.clone()); }
    Object freeze() const { return Object(handle_.frozen()); }
    inline std::optional<Object> thaw(class Realm &realm) const;
    /// Whether both are the same object.
    friend bool operator==(const Object &left, const Object &right) noexcept {
        return motte_equal(left.handle(), right.handle()) == 1;
    }
    friend bool operator!=(const Object &left, const Object &right) noexcept { return !(left == right); }

    Token observe(Token::Callback callback = nullptr) const {
        return detail::observe(std::move(callback),
                               [&](auto... rest) { return motte_observe_object(handle(), 0, rest...); });
    }
    motte_object *handle() const noexcept { return handle_.get(); }

private:
    motte_prop prop(std::string_view name) const {
        motte_prop found = 0;
        check(motte_object_prop(handle(), name.data(), name.size(), &found));
        return found;
    }

    Handle<motte_object> handle_;
};

inline Value::Value(const Object &object) : raw_{} { check(motte_object_link(object.handle(), &raw_)); }

// ------------------------------------------------------------------------------------------------ collections

/// What to sort by.
struct SortKey {
    std::string_view path;
    bool ascending = true;
};

/// A list, set, map, backlinks or results, live or frozen. A range-for goes over its objects; a loop that changes which
/// objects are in it goes over snapshot().
class Collection {
public:
    explicit Collection(Handle<motte_coll> handle) : handle_(std::move(handle)) {}

    std::size_t size() const {
        std::size_t count = 0;
        check(motte_coll_count(handle(), &count));
        return count;
    }
    bool empty() const { return size() == 0; }

    /// The object at a position; OUT_OF_BOUNDS behind the end, OBJECT_DELETED for one of a snapshot that is gone.
    Object operator[](std::size_t index) const {
        motte_object *object = nullptr;
        if (check(motte_coll_get_object(handle(), index, &object)) == MOTTE_NULL) {
            throw Error(MOTTE_E_OBJECT_DELETED, "the object at this position of a snapshot has been deleted");
        }
        return Object(Handle<motte_object>(object));
    }
    std::optional<Object> first() const {
        if (empty()) return std::nullopt;
        return (*this)[0];
    }
    /// The value at a position.
    template <typename T> T get(std::size_t index) const {
        motte_value value{};
        check(motte_coll_get(handle(), index, &value));
        return detail::as<T>(value);
    }
    /// First position of a value or object.
    std::optional<std::size_t> find(const Value &value) const {
        std::size_t index = 0;
        if (check(motte_coll_find(handle(), &value.raw(), &index)) == MOTTE_NOT_FOUND) return std::nullopt;
        return index;
    }

    /// Objects one after the other, each with a handle of its own. Those of a snapshot that are gone are passed over.
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Object;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = Object;

        Iterator(const Collection *collection, std::size_t index) : collection_(collection), index_(index) { settle(); }
        Iterator(Iterator &&) = default;
        Iterator &operator=(Iterator &&) = default;
        Iterator(const Iterator &other) : collection_(other.collection_), index_(other.index_) {
            if (other.object_) object_.emplace(other.object_->clone());
        }
        Iterator &operator=(const Iterator &other) { return *this = Iterator(other); }
        ~Iterator() = default;
        Object operator*() const { return object_->clone(); }
        Iterator &operator++() {
            index_++;
            settle();
            return *this;
        }
        Iterator operator++(int) {
            Iterator before(*this);
            ++*this;
            return before;
        }
        friend bool operator==(const Iterator &left, const Iterator &right) noexcept {
            return left.object_.has_value() == right.object_.has_value() &&
                   (!left.object_ || left.index_ == right.index_);
        }
        friend bool operator!=(const Iterator &left, const Iterator &right) noexcept { return !(left == right); }

    private:
        void settle() {
            object_.reset();
            if (!collection_) return;
            for (const std::size_t count = collection_->size(); index_ < count; index_++) {
                motte_object *object = nullptr;
                if (check(motte_coll_get_object(collection_->handle(), index_, &object)) == MOTTE_NULL) continue;
                object_.emplace(Handle<motte_object>(object));
                return;
            }
        }

        const Collection *collection_;
        std::size_t index_;
        std::optional<Object> object_;
    };
    Iterator begin() const { return Iterator(this, 0); }
    Iterator end() const { return Iterator(nullptr, 0); }

    Collection filter(std::string_view text, std::initializer_list<Value> args = {}) const {
        motte_coll *found = nullptr;
        check(motte_coll_filter(handle(), text.data(), text.size(), detail::raw(args.begin()), args.size(), &found));
        return Collection(Handle<motte_coll>(found));
    }
    Collection sort(std::initializer_list<SortKey> keys) const {
        std::vector<motte_sort_key> raw;
        for (const SortKey &key : keys) {
            raw.push_back({key.path.data(), key.path.size(),
                           static_cast<std::uint32_t>(key.ascending ? MOTTE_SORT_ASCENDING : MOTTE_SORT_DESCENDING),
                           0});
        }
        motte_coll *found = nullptr;
        check(motte_coll_sort(handle(), raw.data(), raw.size(), &found));
        return Collection(Handle<motte_coll>(found));
    }
    Collection limit(std::size_t most) const {
        motte_coll *found = nullptr;
        check(motte_coll_limit(handle(), most, &found));
        return Collection(Handle<motte_coll>(found));
    }
    /// The same elements, fixed.
    Collection snapshot() const {
        motte_coll *found = nullptr;
        check(motte_coll_snapshot(handle(), &found));
        return Collection(Handle<motte_coll>(found));
    }
    Collection freeze() const { return Collection(handle_.frozen()); }
    inline std::optional<Collection> thaw(class Realm &realm) const;

    /// Of lists.
    void append(const Value &value) { check(motte_list_append(handle(), &value.raw(), 1)); }
    void insert(std::size_t index, const Value &value) {
        check(motte_list_insert(handle(), index, &value.raw()));
    }
    void set(std::size_t index, const Value &value) { check(motte_list_set(handle(), index, &value.raw())); }
    void remove(std::size_t index) { check(motte_list_remove(handle(), index)); }
    /// Of maps.
    void put(std::string_view key, const Value &value) {
        check(motte_map_put(handle(), key.data(), key.size(), &value.raw(), nullptr));
    }
    template <typename T> std::optional<T> at(std::string_view key) const {
        motte_value value{};
        if (check(motte_map_get(handle(), key.data(), key.size(), &value)) == MOTTE_NOT_FOUND) return std::nullopt;
        return detail::as<T>(value);
    }
    /// Of sets; false if it was there.
    bool insert(const Value &value) { return check(motte_set_insert(handle(), &value.raw())) == MOTTE_OK; }
    /// Of lists, sets and maps; the objects in it stay.
    void clear() { check(motte_coll_clear(handle())); }
    /// Deletes every object in it and returns how many.
    std::uint64_t eraseObjects() {
        std::uint64_t count = 0;
        check(motte_coll_delete_objects(handle(), &count));
        return count;
    }

    Token observe(Token::Callback callback = nullptr) const {
        return detail::observe(std::move(callback),
                               [&](auto... rest) { return motte_observe_coll(handle(), 0, rest...); });
    }
    motte_coll *handle() const noexcept { return handle_.get(); }

private:
    Handle<motte_coll> handle_;
};

inline Collection Object::collection(std::string_view name) const {
    motte_coll *found = nullptr;
    check(motte_object_get_coll(handle(), prop(name), &found));
    return Collection(Handle<motte_coll>(found));
}

// ------------------------------------------------------------------------------------------------ queue

/// How an event loop is notified: poll fd() for reading, then dispatch().
class Queue {
public:
    Queue() {
        motte_queue *queue = nullptr;
        check(motte_queue_new(0, &queue));
        handle_ = Handle<motte_queue>(queue);
    }
    int fd() const {
        std::int32_t fd = -1;
        check(motte_queue_fd(handle(), &fd));
        return fd;
    }
    /// How long a loop may sleep before it dispatches, in milliseconds; -1 without limit.
    std::int64_t timeout() const {
        std::int64_t timeout = 0;
        check(motte_queue_timeout(handle(), &timeout));
        return timeout;
    }
    std::size_t dispatch() {
        std::size_t count = 0;
        check(motte_queue_dispatch(handle(), 0, &count));
        return count;
    }
    /// False after the timeout.
    bool wait(std::int64_t milliseconds) { return check(motte_queue_wait(handle(), milliseconds)) == MOTTE_OK; }
    motte_queue *handle() const noexcept { return handle_.get(); }

private:
    Handle<motte_queue> handle_;
};

// ------------------------------------------------------------------------------------------------ realm

/// How to open a realm: config.path("x.motte").schema("Person { ... }").option("durability", "relaxed").
class Config {
public:
    Config() {
        motte_config *config = nullptr;
        check(motte_config_new(&config));
        handle_ = Handle<motte_config>(config);
    }
    Config &path(std::string_view path) {
        check(motte_config_set_path(handle(), path.data(), path.size()));
        return *this;
    }
    Config &inMemory(std::string_view identifier) {
        check(motte_config_set_in_memory(handle(), identifier.data(), identifier.size()));
        return *this;
    }
    Config &schema(std::string_view text) {
        motte_schema *schema = nullptr;
        check(motte_schema_parse(text.data(), text.size(), &schema));
        const Handle<motte_schema> kept(schema);
        check(motte_config_set_schema(handle(), schema, 0));
        return *this;
    }
    Config &encryptionKey(const std::uint8_t *key, std::size_t size) {
        check(motte_config_set_encryption_key(handle(), key, size));
        return *this;
    }
    Config &readOnly() {
        check(motte_config_set_flags(handle(), MOTTE_CONFIG_READ_ONLY, MOTTE_CONFIG_READ_ONLY));
        return *this;
    }
    Config &option(std::string_view name, const Value &value) {
        check(motte_config_set_option(handle(), name.data(), name.size(), &value.raw()));
        return *this;
    }
    Config &queue(const Queue &queue) {
        // To the function below, none is the realm without a queue.
        check(motte_handle_check(queue.handle()));
        check(motte_config_set_queue(handle(), queue.handle()));
        return *this;
    }
    motte_config *handle() const noexcept { return handle_.get(); }

private:
    Handle<motte_config> handle_;
};

/// One thread's view of a database. The destructor releases the handle; the last one of a realm closes it.
class Realm {
public:
    explicit Realm(const Config &config) {
        motte_realm *realm = nullptr;
        check(motte_realm_open(config.handle(), &realm));
        handle_ = Handle<motte_realm>(realm);
    }
    /// A file; an empty schema stands for that of the file.
    explicit Realm(std::string_view path, std::string_view schema = {}) : Realm(configured(path, schema)) {}
    explicit Realm(Handle<motte_realm> handle) : handle_(std::move(handle)) {}

    /// Begins a write, runs the body and commits; what the body throws cancels the write and goes on. Returns what the
    /// body returns.
    template <typename Body> auto write(Body &&body) -> decltype(body()) {
        check(motte_realm_begin_write(handle(), -1));
        Cancelling open{handle()};
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            open.commit();
        } else {
            decltype(auto) result = body();
            open.commit();
            return result;
        }
    }
    bool isInWrite() const noexcept { return motte_realm_in_write(handle()) == 1; }
    /// Whether there was a newer version.
    bool refresh() {
        bool advanced = false;
        check(motte_realm_refresh(handle(), &advanced));
        return advanced;
    }
    void close() { check(motte_realm_close(handle())); }
    Realm freeze() const { return Realm(handle_.frozen()); }

    /// A new object with these values, the primary key among them.
    Object add(std::string_view className, std::initializer_list<Field> fields,
               std::uint32_t policy = MOTTE_CREATE_NEW) {
        const motte_class cls = classNamed(className);
        std::vector<motte_prop> props(fields.size());
        std::vector<motte_value> values(fields.size());
        std::size_t index = 0;
        for (const Field &field : fields) {
            check(motte_prop_require(handle(), cls, field.name.data(), field.name.size(), &props[index]));
            values[index++] = field.value.raw();
        }
        motte_object *object = nullptr;
        check(motte_object_create_with(handle(), cls, props.data(), values.data(), index, policy, &object, nullptr));
        return Object(Handle<motte_object>(object));
    }
    /// All objects of a class.
    Collection all(std::string_view className) const {
        motte_coll *found = nullptr;
        check(motte_class_all(handle(), classNamed(className), &found));
        return Collection(Handle<motte_coll>(found));
    }
    Collection query(std::string_view className, std::string_view text, std::initializer_list<Value> args = {}) const {
        return all(className).filter(text, args);
    }
    /// By primary key.
    std::optional<Object> find(std::string_view className, const Value &key) const {
        motte_object *found = nullptr;
        if (check(motte_object_find(handle(), classNamed(className), &key.raw(), &found)) == MOTTE_NOT_FOUND) {
            return std::nullopt;
        }
        return Object(Handle<motte_object>(found));
    }
    motte_class classNamed(std::string_view name) const {
        motte_class cls = 0;
        check(motte_class_require(handle(), name.data(), name.size(), &cls));
        return cls;
    }
    /// False if the file has all that is declared.
    bool addSchema(std::string_view text) {
        motte_schema *schema = nullptr;
        check(motte_schema_parse(text.data(), text.size(), &schema));
        const Handle<motte_schema> kept(schema);
        return check(motte_realm_add_schema(handle(), schema)) == MOTTE_OK;
    }
    /// False if there is no such class.
    bool eraseClass(std::string_view name) {
        return check(motte_realm_delete_class(handle(), name.data(), name.size())) == MOTTE_OK;
    }

    Token observe(Token::Callback callback = nullptr) const {
        return detail::observe(std::move(callback),
                               [&](auto... rest) { return motte_observe_realm(handle(), 0, rest...); });
    }
    motte_realm *handle() const noexcept { return handle_.get(); }

private:
    /// Cancels an open write when it goes.
    struct Cancelling {
        motte_realm *realm;
        ~Cancelling() {
            if (realm && motte_realm_in_write(realm) == 1) (void)motte_realm_cancel(realm);
        }
        void commit() { check(motte_realm_commit(realm, 0, nullptr)); }
    };

    static Config configured(std::string_view path, std::string_view schema) {
        Config config;
        config.path(path);
        if (!schema.empty()) config.schema(schema);
        return config;
    }

    Handle<motte_realm> handle_;
};

inline std::optional<Object> Object::thaw(Realm &realm) const {
    Handle<motte_object> found = handle_.thawed(realm.handle());
    if (!found) return std::nullopt;
    return Object(std::move(found));
}

inline std::optional<Collection> Collection::thaw(Realm &realm) const {
    Handle<motte_coll> found = handle_.thawed(realm.handle());
    if (!found) return std::nullopt;
    return Collection(std::move(found));
}

/// Leads an object to a realm of another thread; see motte_reference_new().
class Reference {
public:
    explicit Reference(const Object &object) {
        motte_reference *reference = nullptr;
        check(motte_reference_new(object.handle(), &reference));
        handle_ = Handle<motte_reference>(reference);
    }
    /// Once; nothing if the object is not there any more.
    std::optional<Object> resolve(Realm &realm) {
        void *found = nullptr;
        if (check(motte_reference_resolve(handle_.get(), realm.handle(), &found)) != MOTTE_OK) return std::nullopt;
        return Object(Handle<motte_object>(static_cast<motte_object *>(found)));
    }

private:
    Handle<motte_reference> handle_;
};

} // namespace motte

#endif
