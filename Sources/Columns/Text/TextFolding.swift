/// What text comparisons may overlook, and text without it.
///
/// Case: every scalar's lower case by itself, without a locale. Diacritics: what stands here as one letter with its
/// accents becomes the letter (Latin-1, Latin Extended-A, -B and Additional, Greek with its extension, Cyrillic, as far
/// as Unicode decomposes them), and combining marks that follow a letter go away, whatever the script. Letters that
/// Unicode takes for letters of their own, such as ø, ł, đ and ß, stay. Folding never looks at neighbours, so that
/// parts of folded text are folded parts.
import MotteValues

package enum TextFolding {
    package static func folded(_ text: UnsafeRawBufferPointer, _ options: TextOptions) -> [UInt8] {
        let lowers = options.contains(.ignoresCase)
        if isASCII(text) { return lowers ? text.map(lowered) : [UInt8](text) }
        let strips = options.contains(.ignoresDiacritics)
        var folded: [UInt8] = []
        folded.reserveCapacity(text.count)
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            if lowers {
                for scalar in scalar.properties.lowercaseMapping.unicodeScalars { append(scalar, strips, to: &folded) }
            } else {
                append(scalar, strips, to: &folded)
            }
        }
        return folded
    }

    /// A number for all of this: a checksum of what every scalar becomes. Cases come from tables of the Swift library
    /// that a program was built with, or of the system, and these follow Unicode. Where it is another number, some
    /// texts may be folded in another way.
    package static let fingerprint: UInt32 = {
        var sum: UInt32 = 0x811C_9DC5
        func add(_ bytes: [UInt8]) {
            for byte in bytes { sum = (sum ^ UInt32(byte)) &* 0x0100_0193 }
        }
        // No script with cases lies behind the first two planes.
        for value in UInt32(0x80) ..< 0x20000 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            var folded: [UInt8] = []
            for lower in scalar.properties.lowercaseMapping.unicodeScalars { append(lower, true, to: &folded) }
            var stripped: [UInt8] = []
            append(scalar, true, to: &stripped)
            let own = UTF8.encode(scalar).map { Array($0) } ?? []
            guard folded != own || stripped != own else { continue }
            add(own)
            add(folded)
            add([0])
            add(stripped)
        }
        return sum
    }()

    private static func append(_ scalar: Unicode.Scalar, _ strips: Bool, to folded: inout [UInt8]) {
        guard strips, scalar.value >= 0xC0 else { return folded.append(contentsOf: UTF8.encode(scalar) ?? .init()) }
        guard !isMark(scalar.value), let base = Unicode.Scalar(base(scalar.value)) else { return }
        folded.append(contentsOf: UTF8.encode(base) ?? .init())
    }

    /// The blocks of combining marks for letters of several scripts, and those of Cyrillic numbers.
    private static func isMark(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x300 ... 0x36F, 0x483 ... 0x489, 0x1AB0 ... 0x1AFF, 0x1DC0 ... 0x1DFF, 0x20D0 ... 0x20FF,
            0xFE20 ... 0xFE2F:
            true
        default: false
        }
    }

    private static func base(_ scalar: UInt32) -> UInt32 {
        guard scalar < tableSize else { return scalar }
        let base = bases[Int(scalar)]
        return base == 0 ? scalar : UInt32(base)
    }

    private static let tableSize: UInt32 = 0x2000

    /// 0 for scalars that are their own.
    private static let bases: [UInt16] = {
        var bases = [UInt16](repeating: 0, count: Int(tableSize))
        for group in letters.unicodeScalars.split(separator: " ") {
            guard let base = group.first else { continue }
            for scalar in group.dropFirst() { bases[Int(scalar.value)] = UInt16(truncatingIfNeeded: base.value) }
        }
        return bases
    }()

    /// Each letter, followed by what it becomes with accents.
    private static let letters = """
        AÀÁÂÃÄÅĀĂĄǍǞǠǺȀȂȦḀẠẢẤẦẨẪẬẮẰẲẴẶ BḂḄḆ CÇĆĈĊČḈ DĎḊḌḎḐḒ EÈÉÊËĒĔĖĘĚȄȆȨḔḖḘḚḜẸẺẼẾỀỂỄỆ FḞ GĜĞĠĢǦǴḠ \
        HĤȞḢḤḦḨḪ IÌÍÎÏĨĪĬĮİǏȈȊḬḮỈỊ JĴ KĶǨḰḲḴ LĹĻĽḶḸḺḼ MḾṀṂ NÑŃŅŇǸṄṆṈṊ \
        OÒÓÔÕÖŌŎŐƠǑǪǬȌȎȪȬȮȰṌṎṐṒỌỎỐỒỔỖỘỚỜỞỠỢ PṔṖ RŔŖŘȐȒṘṚṜṞ SŚŜŞŠȘṠṢṤṦṨ TŢŤȚṪṬṮṰ \
        UÙÚÛÜŨŪŬŮŰŲƯǓǕǗǙǛȔȖṲṴṶṸṺỤỦỨỪỬỮỰ VṼṾ WŴẀẂẄẆẈ XẊẌ YÝŶŸȲẎỲỴỶỸ ZŹŻŽẐẒẔ \
        aàáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ bḃḅḇ cçćĉċčḉ dďḋḍḏḑḓ eèéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ fḟ gĝğġģǧǵḡ \
        hĥȟḣḥḧḩḫẖ iìíîïĩīĭįǐȉȋḭḯỉị jĵǰ kķǩḱḳḵ lĺļľḷḹḻḽ mḿṁṃ nñńņňǹṅṇṉṋ \
        oòóôõöōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ pṕṗ rŕŗřȑȓṙṛṝṟ sśŝşšșṡṣṥṧṩ tţťțṫṭṯṱẗ \
        uùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự vṽṿ wŵẁẃẅẇẉẘ xẋẍ yýÿŷȳẏẙỳỵỷỹ zźżžẑẓẕ ÆǢǼ ØǾ æǣǽ øǿ ſẛ ƷǮ ʒǯ \
        ΑΆἈἉἊἋἌἍἎἏᾈᾉᾊᾋᾌᾍᾎᾏᾸᾹᾺΆᾼ ΕΈἘἙἚἛἜἝῈΈ ΗΉἨἩἪἫἬἭἮἯᾘᾙᾚᾛᾜᾝᾞᾟῊΉῌ ΙΊΪἸἹἺἻἼἽἾἿῘῙῚΊ ΟΌὈὉὊὋὌὍῸΌ ΡῬ \
        ΥΎΫὙὛὝὟῨῩῪΎ ΩΏὨὩὪὫὬὭὮὯᾨᾩᾪᾫᾬᾭᾮᾯῺΏῼ αάἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ εέἐἑἒἓἔἕὲέ \
        ηήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ ιΐίϊἰἱἲἳἴἵἶἷὶίιῐῑῒΐῖῗ οόὀὁὂὃὄὅὸό ρῤῥ υΰϋύὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ \
        ωώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ ϒϓϔ ІЇ АӐӒ ГЃ ЕЀЁӖ ЖӁӜ ЗӞ ИЍЙӢӤ КЌ ОӦ УЎӮӰӲ ЧӴ ЫӸ ЭӬ аӑӓ гѓ еѐёӗ жӂӝ \
        зӟ ийѝӣӥ кќ оӧ уўӯӱӳ чӵ ыӹ эӭ ії ѴѶ ѵѷ ӘӚ әӛ ӨӪ өӫ
        """

    @inline(__always)
    package static func lowered(_ byte: UInt8) -> UInt8 { byte &- 65 < 26 ? byte | 0x20 : byte }

    package static func isASCII(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let base = text.baseAddress else { return true }
        var index = 0
        while index &+ 8 <= text.count {
            if base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 != 0 { return false }
            index &+= 8
        }
        while index < text.count {
            if base.load(fromByteOffset: index, as: UInt8.self) >= 0x80 { return false }
            index &+= 1
        }
        return true
    }
}
