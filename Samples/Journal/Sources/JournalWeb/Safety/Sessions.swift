import Crypto
import Foundation
import LFSSettings
import Synchronization

/// A session of a browser: an id that cannot be guessed, in a cookie that scripts cannot read.
struct Session: Hashable, Sendable {
    /// The id: 32 random characters.
    let id: String
    /// Indicates that the password was entered in the session, or that no password is needed.
    let isLoggedIn: Bool
    /// The end of the session, in seconds since 1970.
    let expires: Int
    /// Indicates that the browser does not have the cookie yet.
    var isNew = false

    /// The text of the cookie, which is signed.
    var text: String { "\(isLoggedIn ? "in" : "out").\(id).\(expires)" }
}

extension Session {
    /// Reads the text of a cookie in exactly this format.
    init?(_ text: String) {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        guard fields.count == 3, let expires = Int(fields[2]) else { return nil }
        self.init(id: fields[1], isLoggedIn: fields[0] == "in", expires: expires)
        guard self.text == text else { return nil }
    }
}

/// A list of sessions. It creates sessions and form tokens and verifies them, also after a restart.
///
/// A session ends after some days, at its logout, after a change of the password, and when all sessions are ended. The
/// mutex owns the key and the list of ended sessions.
final class Sessions: Sendable {
    static let cookie = "journal"
    /// The lifetime in seconds.
    static let lifetime = 30 * 24 * 3_600
    /// The maximum number of ended sessions that are kept until their time expires. If there are more, all sessions are
    /// ended.
    static let maxEnded = 1_000

    private struct Owned {
        /// The key that signs cookies and form tokens.
        var key: SymmetricKey
        /// The ended sessions by their ids, with the times at which they would have expired.
        var ended: [String: Int]
    }

    private let settings: StorageRouter
    private let password: Data
    private let isTLS: Bool
    private let now: @Sendable () -> Int
    private let owned: Mutex<Owned>

    /// Opens the sessions with the key from the journal's secrets. A missing key is created.
    ///
    /// - Throws: `SettingsError` if the secrets are not available. No key is created then.
    static func open(
        _ settings: StorageRouter, password: Password?, isTLS: Bool,
        now: @escaping @Sendable () -> Int = { Int(Date().timeIntervalSince1970) }
    ) async throws -> Sessions {
        let fresh = random(secretByteCount)
        let secret = try await settings.update(.sessionSecret) { secret in
            if secret.isEmpty { secret = fresh }
        }
        guard secret.count == secretByteCount else {
            throw SettingsError(
                .corrupted,
                message:
                    "The secret of the sessions has \(secret.count) bytes instead of 32. Remove it and restart.",
                key: StorageKey.sessionSecret.name)
        }
        let ended = try await settings.get(.endedSessions)
        return Sessions(settings, password: password?.bytes ?? Data(), isTLS: isTLS, secret: secret, ended: ended, now)
    }

    private static let secretByteCount = 32

    private init(
        _ settings: StorageRouter, password: Data, isTLS: Bool, secret: Data, ended: [String: Int],
        _ now: @escaping @Sendable () -> Int
    ) {
        self.settings = settings
        self.password = password
        self.isTLS = isTLS
        self.now = now
        owned = Mutex(Owned(key: Self.key(secret, password: password), ended: ended))
    }

    // MARK: Cookies

    func newSession(isLoggedIn: Bool) -> Session {
        Session(
            id: Self.hex(Self.random(16)), isLoggedIn: isLoggedIn, expires: now() + Self.lifetime, isNew: true)
    }

    /// Returns the session of a request's cookies. Nil if they contain no valid session.
    func session(cookies: [String]) -> Session? {
        let (time, ended) = (now(), owned.withLock { $0.ended })
        for pair in cookies.flatMap({ $0.split(separator: ";") }) {
            let parts = pair.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0] == Self.cookie, let dot = parts[1].lastIndex(of: ".") else { continue }
            let code = String(parts[1][parts[1].index(after: dot)...])
            guard let session = Session(String(parts[1][..<dot])),
                isRight(code, for: "session \(session.text)"), session.expires > time, ended[session.id] == nil
            else { continue }
            return session
        }
        return nil
    }

    func header(for session: Session) -> String {
        let code = code(for: "session \(session.text)")
        return "\(Self.cookie)=\(session.text).\(code); Path=/; HttpOnly; SameSite=Strict" + (isTLS ? "; Secure" : "")
    }

    // MARK: Forms

    /// Returns the token in the forms of a session's pages, which other sites cannot know.
    func token(of session: Session) -> String { code(for: "form \(session.id)") }

    func isToken(_ text: String, of session: Session) -> Bool { isRight(text, for: "form \(session.id)") }

    // MARK: Signatures

    /// - Parameter password: The digest of the password. Empty without a password. With another password all earlier
    ///   signatures are invalid.
    private static func key(_ secret: Data, password: Data) -> SymmetricKey {
        // RFC 5869.
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), salt: password, info: Data("journal sessions 1".utf8),
            outputByteCount: secretByteCount)
    }

    private func code(for text: String) -> String {
        Self.hex(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: owned.withLock { $0.key }))
    }

    /// Compares digests, which takes the same time for all texts.
    private func isRight(_ code: String, for text: String) -> Bool {
        SHA256.hash(data: Data(code.utf8)) == SHA256.hash(data: Data(self.code(for: text).utf8))
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }

    private static func random(_ count: Int) -> Data {
        SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Data($0) }
    }

    // MARK: Ends

    /// Permanently ends a session in which a user is logged in.
    ///
    /// - Throws: `SettingsError`. The session is then ended only until the next start.
    func end(_ session: Session) async throws {
        guard session.isLoggedIn else { return }
        let time = now()
        owned.withLock { $0.ended[session.id] = session.expires }
        let ended = try await settings.update(.endedSessions) { ended in
            ended = ended.filter { $0.value > time }
            // One more than the maximum shows that there were too many.
            if ended.count <= Self.maxEnded { ended[session.id] = session.expires }
        }
        if ended.count > Self.maxEnded { return try await endAll() }
        // Another session may have been ended in the meantime.
        owned.withLock { owned in
            owned.ended = owned.ended.merging(ended) { max($0, $1) }.filter { $0.value > time }
        }
    }

    /// Ends all sessions of all browsers.
    ///
    /// - Throws: `SettingsError`. The sessions then remain valid.
    func endAll() async throws {
        let secret = Self.random(Self.secretByteCount)
        try await settings.set(secret, for: .sessionSecret)
        owned.withLock { $0 = Owned(key: Self.key(secret, password: password), ended: [:]) }
        // These sessions are signed with a key that no longer exists.
        try await settings.remove(.endedSessions)
    }
}
