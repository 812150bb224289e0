import Crypto
import Foundation
import Synchronization

/// The password, and who has tried it too often. The count of tries is its own, for all browsers together.
final class Password: Sendable {
    private let digest: SHA256Digest
    private let tries = Mutex<[Date]>([])

    /// What stands for it where a key is made of it.
    var bytes: Data { Data(digest) }

    /// How many wrong ones a minute has: enough for fingers, too few for a list of words.
    static let maxTries = 10

    init(_ text: String) { digest = SHA256.hash(data: Data(text.utf8)) }

    /// - Throws: ``WebError/Code/wrongPassword``, ``WebError/Code/tooManyTries``.
    func check(_ text: String, now: Date = Date()) throws(WebError) {
        let isFree = tries.withLock { tries in
            tries.removeAll { now.timeIntervalSince($0) > 60 }
            guard tries.count < Self.maxTries else { return false }
            tries.append(now)
            return true
        }
        guard isFree else { throw WebError(.tooManyTries, "Too many passwords were tried. Wait a minute.") }
        guard Self.areEqual(Data(digest), Data(SHA256.hash(data: Data(text.utf8)))) else {
            throw WebError(.wrongPassword, "That is not the password.")
        }
        tries.withLock { tries in _ = tries.popLast() }
    }

    /// Compares all bytes, wherever they differ first.
    static func areEqual(_ one: Data, _ other: Data) -> Bool {
        one.count == other.count && zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
