/// What a commit writes of a long list: its changed nodes, and what it no longer refers to.
import MottePages
import MotteValues

extension LongList {
    func encode(into batch: inout PageBatch) throws(DatabaseError) {
        if dropsStored { for key in try reader.storedKeys() { batch.delete(key) } }
        for id in freed { batch.delete(reader.key(id)) }
        if let root { encode(root, into: &batch) }
    }

    /// What the nodes that `encode` writes and deletes refer to.
    func balanceLongValues(_ balance: inout LongValueBalance) throws(DatabaseError) {
        if dropsStored {
            for key in try reader.storedKeys() { balance.remove(try reader.longReferences(key: key), column.key) }
        } else {
            for id in freed { balance.remove(try reader.longReferences(id), column.key) }
        }
        if let root { try balanceLongValues(of: root, &balance) }
    }

    private func balanceLongValues(
        of node: LongListNode, _ balance: inout LongValueBalance
    ) throws(DatabaseError) {
        if node.isChanged, let elements = node.elements {
            // Of a list that was emptied the file's node of this id is another one, and removed already.
            if !dropsStored { balance.remove(try reader.longReferences(node.id), column.key) }
            balance.add(elements.longReferences, column.key)
        }
        for child in node.children { if let open = child.node { try balanceLongValues(of: open, &balance) } }
    }

    private func encode(_ node: LongListNode, into batch: inout PageBatch) {
        if node.isChanged {
            let key = reader.key(node.id)
            batch.put(key, node.encode(key: key, nextID: node.id == 0 ? nextID : 0))
        }
        for child in node.children { if let open = child.node { encode(open, into: &batch) } }
    }
}
