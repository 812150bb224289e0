import Crypto
import Foundation
import Synchronization

/// The password, with a limit on wrong tries. The tries of all browsers are counted together.
final class Password: Sendable {
    private let digest: SHA256Digest
    private let tries = Mutex<[Date]>([])

    /// The bytes that represent the password in the derivation of a key.
    var bytes: Data { Data(digest) }

    /// The maximum number of wrong tries in a minute: enough for a person, too few for a dictionary attack.
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
        guard isFree else { throw WebError(.tooManyTries, message: "Too many passwords were tried. Wait a minute.") }
        // The comparison of digests takes the same time for all passwords.
        guard digest == SHA256.hash(data: Data(text.utf8)) else {
            throw WebError(.wrongPassword, message: "The password is wrong.")
        }
        tries.withLock { tries in _ = tries.popLast() }
    }
}
