/* Names by which a program calls what has other names in the file: in look-ups, queries and paths, and nowhere in the
 * file. */
#include "check.h"

static motte_realm *open_named(const char *identifier) {
    motte_config *config;
    motte_schema *schema;
    motte_realm *realm;
    MUST(motte_config_new(&config));
    MUST(
        motte_schema_parse("person { id: int key, first_name: string, age: int, boss: link<person>, dogs: list<dog> }  "
                           "dog { pet_name: string }",
                           MOTTE_NTS, &schema));
    MUST(motte_config_set_in_memory(config, identifier, MOTTE_NTS));
    MUST(motte_config_set_schema(config, schema, 0));
    STATUS(MOTTE_OK, motte_config_set_public_name(config, MOTTE_LIT("person"), NULL, 0, MOTTE_LIT("Person")));
    STATUS(MOTTE_OK,
           motte_config_set_public_name(config, MOTTE_LIT("person"), MOTTE_LIT("first_name"), MOTTE_LIT("firstName")));
    STATUS(MOTTE_OK, motte_config_set_public_name(config, MOTTE_LIT("dog"), MOTTE_LIT("pet_name"), MOTTE_LIT("name")));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_config_set_public_name(config, "", 0, NULL, 0, MOTTE_LIT("x")));
    /* One name for each, and none for two. */
    STATUS(MOTTE_OK, motte_config_set_public_name(config, MOTTE_LIT("dog"), NULL, 0, MOTTE_LIT("Hound")));
    STATUS(MOTTE_OK, motte_config_set_public_name(config, MOTTE_LIT("dog"), NULL, 0, MOTTE_LIT("Dog")));
    STATUS(MOTTE_OK, motte_config_set_public_name(config, MOTTE_LIT("dog"), NULL, 0, MOTTE_LIT("Dog")));
    STATUS(MOTTE_E_INVALID_ARGUMENT, motte_config_set_public_name(config, MOTTE_LIT("dog"), NULL, 0, "Person", 6));
    STATUS(MOTTE_E_INVALID_ARGUMENT,
           motte_config_set_public_name(config, MOTTE_LIT("person"), MOTTE_LIT("age"), MOTTE_LIT("firstName")));
    CHECK(strstr(check_error().message, "person.first_name") != NULL);
    MUST(motte_realm_open(config, &realm));
    motte_release(config), motte_release(schema);
    return realm;
}

static size_t count_of(motte_coll *coll) {
    size_t count = 0;
    MUST(motte_coll_count(coll, &count));
    motte_release(coll);
    return count;
}

static motte_coll *filtered(const motte_coll *coll, const char *text) {
    motte_coll *found = NULL;
    STATUS(MOTTE_OK, motte_coll_filter(coll, text, MOTTE_NTS, NULL, 0, &found));
    return found;
}

int main(void) {
    motte_realm *realm = open_named("public names");
    motte_class person, stored, dog;
    motte_prop first_name, same, pet_name;
    motte_class_details class_details = {.struct_size = sizeof class_details};
    motte_prop_details prop_details = {.struct_size = sizeof prop_details};

    STATUS(MOTTE_OK, motte_class_find(realm, MOTTE_LIT("Person"), &person));
    STATUS(MOTTE_OK, motte_class_require(realm, MOTTE_LIT("person"), &stored));
    STATUS(MOTTE_OK, motte_class_require(realm, MOTTE_LIT("dog"), &dog));
    STATUS(MOTTE_NOT_FOUND, motte_class_find(realm, MOTTE_LIT("Hound"), &dog));
    STATUS(MOTTE_OK, motte_class_find(realm, MOTTE_LIT("Dog"), &dog));
    CHECK(person == stored);
    STATUS(MOTTE_OK, motte_prop_find(realm, person, MOTTE_LIT("firstName"), &first_name));
    STATUS(MOTTE_OK, motte_prop_require(realm, person, MOTTE_LIT("first_name"), &same));
    STATUS(MOTTE_OK, motte_prop_find(realm, dog, MOTTE_LIT("name"), &pet_name));
    CHECK(first_name == same);
    MUST(motte_class_info(realm, person, &class_details));
    CHECK(strcmp(class_details.name, "person") == 0 && strcmp(class_details.public_name, "Person") == 0);
    MUST(motte_prop_info(realm, first_name, &prop_details));
    CHECK(strcmp(prop_details.name, "first_name") == 0 && strcmp(prop_details.public_name, "firstName") == 0);
    MUST(motte_class_info(realm, dog, &class_details));
    CHECK(strcmp(class_details.public_name, "Dog") == 0);

    MUST(motte_realm_begin_write(realm, -1));
    motte_object *people[3], *rex;
    motte_value key;
    motte_coll *dogs;
    for (int i = 0; i < 3; i++) {
        key = motte_int(i);
        MUST(motte_object_create(realm, person, &key, 0, &people[i], NULL));
        STATUS(MOTTE_OK, motte_object_prop(people[i], MOTTE_LIT("firstName"), &same));
        MUST(motte_object_set_string(people[i], same, i == 0 ? "Cleo" : i == 1 ? "Ada" : "Bob", MOTTE_NTS));
    }
    MUST(motte_object_set_object(people[1], motte_prop_named(realm, person, "boss"), people[0]));
    MUST(motte_object_create(realm, dog, NULL, 0, &rex, NULL));
    MUST(motte_object_set_string(rex, pet_name, "Rex", 3));
    MUST(motte_object_get_coll(people[2], motte_prop_named(realm, person, "dogs"), &dogs));
    MUST(motte_list_append_object(dogs, rex));
    MUST(motte_realm_commit(realm, 0, NULL));

    motte_coll *all, *found;
    MUST(motte_class_all(realm, person, &all));
    CHECK(count_of(filtered(all, "firstName == 'Ada'")) == 1);
    CHECK(count_of(filtered(all, "first_name == 'Ada'")) == 1);
    CHECK(count_of(filtered(all, "boss.firstName BEGINSWITH 'C'")) == 1);
    CHECK(count_of(filtered(all, "ANY dogs.name == 'Rex'")) == 1);
    CHECK(count_of(filtered(all, "SUBQUERY(dogs, $d, $d.name == 'Rex').@count == 1 AND NOT firstName == 'Ada'")) == 1);
    CHECK(count_of(filtered(all, "firstName != 'x' SORT(firstName DESC) DISTINCT(firstName) LIMIT(2)")) == 2);
    STATUS(MOTTE_E_UNKNOWN_PROPERTY, motte_coll_filter(all, MOTTE_LIT("name == 'Rex'"), NULL, 0, &found));

    motte_query *query;
    motte_buf text;
    MUST(motte_query_parse(realm, person, MOTTE_LIT("firstName == 'Ada'"), NULL, 0, &query));
    MUST(motte_query_describe(query, &text));
    CHECK(strcmp(text.data, "first_name == \"Ada\"") == 0);
    motte_buf_dispose(&text);
    motte_release(query);

    motte_sort_key by_name = {"firstName", 9, MOTTE_SORT_ASCENDING, 0};
    motte_value value;
    motte_key row;
    MUST(motte_coll_sort(all, &by_name, 1, &found));
    MUST(motte_coll_get(found, 0, &value));
    MUST(motte_object_row(people[1], NULL, &row));
    CHECK(value.as.key == row);
    motte_release(found);
    MUST(motte_coll_distinct(all, &by_name, 1, &found));
    CHECK(count_of(found) == 3);
    motte_sections *sections;
    STATUS(MOTTE_OK, motte_sections_by_path(all, MOTTE_LIT("firstName"), MOTTE_SECTIONS_FIRST_LETTER, &sections));
    motte_release(sections);
    motte_str path = {"firstName", 9};
    motte_token *token;
    STATUS(MOTTE_OK, motte_observe_coll_paths(all, &path, 1, 0, NULL, NULL, NULL, &token));
    motte_release(token);
    STATUS(MOTTE_OK, motte_observe_object_paths(people[0], &path, 1, 0, NULL, NULL, NULL, &token));
    motte_release(token);

    /* Frozen ones know them, the file does not. */
    motte_coll *frozen;
    MUST(motte_coll_freeze(all, &frozen));
    CHECK(count_of(filtered(frozen, "firstName == 'Ada'")) == 1);
    motte_schema *schema;
    MUST(motte_realm_schema(realm, &schema));
    MUST(motte_schema_text(schema, &text));
    CHECK(strstr(text.data, "first_name") != NULL && strstr(text.data, "firstName") == NULL);
    motte_buf_dispose(&text);
    motte_release(schema), motte_release(frozen), motte_release(all), motte_release(dogs), motte_release(rex);
    for (int i = 0; i < 3; i++) motte_release(people[i]);
    MUST(motte_realm_close(realm));
    motte_release(realm);
    return check_summary();
}
