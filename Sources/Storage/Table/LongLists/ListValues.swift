/// Elements on their way into a list: views, or rows of a builder, whose long values change hands.
import MotteColumns
import MotteValues

struct ListValues {
    private let views: [ValueView]
    private let builder: ChunkBuilder?
    let count: Int

    init(_ views: [ValueView]) {
        self.views = views
        builder = nil
        count = views.count
    }

    init(of builder: ChunkBuilder) {
        views = []
        self.builder = builder
        count = builder.count
    }

    func append(_ index: Int, to target: ChunkBuilder) {
        if let builder { target.append(builder, index ..< index + 1) } else { target.append(views[index]) }
    }

    func insert(_ index: Int, into target: ChunkBuilder, at position: Int) {
        if position == target.count {
            append(index, to: target)
        } else if let builder {
            target.insert(builder, index, at: position)
        } else {
            target.insert(views[index], at: position)
        }
    }
}
