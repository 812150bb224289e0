import Crypto
import Foundation

/// What a browser is told apart by: an id that nobody can make up, in a cookie that no script reads.
struct Session: Hashable, Sendable {
    /// 32 random characters.
    let id: String
    /// Whether somebody has said the password in it, or none is needed.
    let isLoggedIn: Bool
    /// Whether the browser has it already.
    var isNew = false
}

/// Makes sessions and form tokens, and knows its own again. Its key lives as long as the process.
struct Seal: Sendable {
    static let cookie = "journal"

    private let key = SymmetricKey(size: .bits256)
    private let isTLS: Bool

    init(isTLS: Bool) { self.isTLS = isTLS }

    func newSession(isLoggedIn: Bool) -> Session {
        var generator = SystemRandomNumberGenerator()
        let id = (0..<2).map { _ in Self.hex(withUnsafeBytes(of: generator.next() as UInt64) { Array($0) }) }.joined()
        return Session(id: id, isLoggedIn: isLoggedIn, isNew: true)
    }

    /// The session of a request's cookies; nil when there is none of ours.
    func session(cookies: [String]) -> Session? {
        for pair in cookies.flatMap({ $0.split(separator: ";") }) {
            let parts = pair.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0] == Self.cookie else { continue }
            let fields = parts[1].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 3, isRight(fields[2], for: "session \(fields[0]) \(fields[1])") else { continue }
            return Session(id: fields[1], isLoggedIn: fields[0] == "in")
        }
        return nil
    }

    func header(for session: Session) -> String {
        let state = session.isLoggedIn ? "in" : "out"
        let value = "\(state).\(session.id).\(code(for: "session \(state) \(session.id)"))"
        return "\(Self.cookie)=\(value); Path=/; HttpOnly; SameSite=Strict" + (isTLS ? "; Secure" : "")
    }

    /// What the forms of a session's pages carry, and no other site can know.
    func token(of session: Session) -> String { code(for: "form \(session.id)") }

    func isToken(_ text: String, of session: Session) -> Bool { isRight(text, for: "form \(session.id)") }

    // MARK: Codes

    private func code(for text: String) -> String {
        Self.hex(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))
    }

    /// In a time that does not depend on how much of it is right.
    private func isRight(_ code: String, for text: String) -> Bool {
        Password.areEqual(Data(code.utf8), Data(self.code(for: text).utf8))
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
    }
}
