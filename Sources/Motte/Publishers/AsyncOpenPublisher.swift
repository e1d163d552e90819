/// A realm opened in the background, as a publisher: `Realm.asyncOpen(configuration: configuration).sink …`.
import Dispatch
import Foundation
import OpenCombine

extension RealmPublishers {
    /// Sends a realm and finishes, or fails; begins when somebody subscribes.
    public struct AsyncOpenPublisher: Publisher {
        /// The realm, once, and then the end.
        public typealias Output = Realm
        /// What opening threw: a `Realm.Error`, or what a migration failed with.
        public typealias Failure = Swift.Error

        private let configuration: Realm.Configuration
        private let queue: DispatchQueue

        init(_ configuration: Realm.Configuration, _ queue: DispatchQueue) {
            self.configuration = configuration
            self.queue = queue
        }

        /// The realm belongs to this serial queue, on which it is received.
        public func receive(on queue: DispatchQueue) -> AsyncOpenPublisher { AsyncOpenPublisher(configuration, queue) }

        /// Begins to open the realm, on a thread of the system. Cancelling the subscription keeps the realm from being
        /// sent; opening goes on.
        public func receive<S: Subscriber>(subscriber: S) where S.Failure == Failure, S.Input == Output {
            let task = Realm.AsyncOpenTask()
            subscriber.receive(subscription: OpeningSubscription(task: task))
            Realm.asyncOpen(configuration, task, queue) { opened in
                switch opened {
                case .success(let realm):
                    _ = subscriber.receive(realm)
                    subscriber.receive(completion: .finished)
                case .failure(let error): subscriber.receive(completion: .failure(error))
                }
            }
        }
    }
}

/// Cancelled, nothing more is received.
private struct OpeningSubscription: Subscription {
    let task: Realm.AsyncOpenTask
    let combineIdentifier = CombineIdentifier()

    func request(_ demand: Subscribers.Demand) {}
    func cancel() { task.cancel() }
}
