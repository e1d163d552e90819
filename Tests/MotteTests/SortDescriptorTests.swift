/// Small values that calls take: sort keys, string options, index paths of sections.
import Foundation
import Motte
import Testing

@Suite struct SortDescriptorTests {
    @Test func namesAKeyAndADirection() {
        let byName: Motte.SortDescriptor = "name"

        #expect(byName == Motte.SortDescriptor(keyPath: "name", ascending: true))
        #expect(byName.reversed() == Motte.SortDescriptor(keyPath: "name", ascending: false))
        #expect(byName.reversed().reversed() == byName)
        #expect(byName != "age")
        #expect(byName.description == "SortDescriptor(keyPath: name, direction: ascending)")
        #expect(byName.reversed().description == "SortDescriptor(keyPath: name, direction: descending)")
    }

    @Test func stringOptionsHaveTheirMarks() {
        #expect(StringOptions([]).text.isEmpty)
        #expect(StringOptions.caseInsensitive.text == "[c]")
        #expect(StringOptions.diacriticInsensitive.text == "[d]")
        #expect(([.caseInsensitive, .diacriticInsensitive] as StringOptions).text == "[cd]")
    }

    @Test func indexPathsAreSectionThenItem() {  // 172
        let path = IndexPath(item: 3, section: 1)

        #expect(path == IndexPath(indexes: [1, 3]))
        #expect(path == IndexPath(row: 3, section: 1))
        #expect(path.section == 1 && path.item == 3 && path.row == 3)
        #expect(IndexPath().section == 0 && IndexPath(index: 4).item == 0)
    }
}
