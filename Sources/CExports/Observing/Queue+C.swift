/// How an event loop is notified of commits by others.
import CMotte
import MotteNotifications
import MotteValues

final class QueueBox: Box {
    let queue: DeliveryQueue

    init(_ queue: DeliveryQueue) {
        self.queue = queue
        super.init(kind: .queue)
    }

    override func check() throws(DatabaseError) { _ = try queue.timeoutMilliseconds() }
    override func clone() throws(DatabaseError) -> Box { QueueBox(queue) }
}

@_cdecl("motte_queue_new") @implementation
public func motte_queue_new(_ flags: UInt32, _ out_queue: UnsafeMutablePointer<OpaquePointer?>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_queue)
        try checkFlags(flags)
        try Handles.make(QueueBox(try DeliveryQueue()), out)
        return .ok
    }
}

@_cdecl("motte_queue_fd") @implementation
public func motte_queue_fd(_ queue: OpaquePointer?, _ out_fd: UnsafeMutablePointer<Int32>?) -> motte_status {
    boundary { () throws(DatabaseError) in
        // 0 is a descriptor too, so -1 stands for none.
        let out = try required(out_fd, zero: -1)
        out.pointee = try Handles.any(queue, .queue, as: QueueBox.self).box.queue.descriptor
        return .ok
    }
}

@_cdecl("motte_queue_timeout") @implementation
public func motte_queue_timeout(
    _ queue: OpaquePointer?, _ out_timeout_ms: UnsafeMutablePointer<Int64>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        let out = try required(out_timeout_ms, zero: 0)
        out.pointee = try Handles.any(queue, .queue, as: QueueBox.self).box.queue.timeoutMilliseconds()
        return .ok
    }
}

@_cdecl("motte_queue_dispatch") @implementation
public func motte_queue_dispatch(
    _ queue: OpaquePointer?, _ max: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> motte_status {
    boundary { () throws(DatabaseError) in
        out_count?.pointee = 0
        let queue = try Handles.any(queue, .queue, as: QueueBox.self)
        let ran = try queue.box.queue.dispatch(atMost: max < 0 ? 0 : max)
        out_count?.pointee = ran
        return .ok
    }
}

@_cdecl("motte_queue_wait") @implementation
public func motte_queue_wait(_ queue: OpaquePointer?, _ timeout_ms: Int64) -> motte_status {
    boundary { () throws(DatabaseError) in
        let queue = try Handles.any(queue, .queue, as: QueueBox.self)
        return try queue.box.queue.wait(timeoutMilliseconds: timeout_ms) ? .ok : .pending
    }
}
