import MotteValues
import TestSupport
import Testing

@Suite struct WeakRegistryTests {
    private final class Shared: Sendable {
        let registry: WeakRegistry<Int, Shared>
        let key: Int

        init(_ key: Int, _ registry: WeakRegistry<Int, Shared>) { (self.key, self.registry) = (key, registry) }

        deinit { registry.remove(key, self) }
    }

    @Test func anObjectIsSharedWhileAnybodyHasIt() {
        let registry = WeakRegistry<Int, Shared>()
        var first: Shared? = registry.object(1) { Shared(1, registry) }
        #expect(registry.object(1) { Shared(1, registry) } === first)
        #expect(registry.count == 1)
        first = nil
        #expect(registry[1] == nil && registry.count == 0)
    }

    @Test func whoGoesLeavesItsPlaceToWhoHasTakenIt() {
        let registry = WeakRegistry<Int, Shared>()
        var first: Shared? = registry.object(1) { Shared(1, registry) }
        let second = Shared(1, registry)
        registry.set(1, second)
        #expect(first !== second)
        first = nil
        #expect(registry[1] === second)
    }
}
