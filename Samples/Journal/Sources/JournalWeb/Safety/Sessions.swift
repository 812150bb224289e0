import Foundation
import LFSSettings
import Synchronization

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
        var seal: Seal
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
        let fresh = Seal.random(secretByteCount)
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
        owned = Mutex(Owned(seal: Seal(secret: secret, password: password), ended: ended))
    }

    // MARK: Cookies

    func newSession(isLoggedIn: Bool) -> Session {
        Session(
            id: Seal.hex(Seal.random(16)), isLoggedIn: isLoggedIn, expires: now() + Self.lifetime, isNew: true)
    }

    /// Returns the session of a request's cookies. Nil if they contain no valid session.
    func session(cookies: [String]) -> Session? {
        let (time, owned) = (now(), owned.withLock { $0 })
        for pair in cookies.flatMap({ $0.split(separator: ";") }) {
            let parts = pair.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0] == Self.cookie, let dot = parts[1].lastIndex(of: ".") else { continue }
            let code = String(parts[1][parts[1].index(after: dot)...])
            guard let session = Session(String(parts[1][..<dot])),
                owned.seal.isRight(code, for: "session \(session.text)"),
                session.expires > time, owned.ended[session.id] == nil
            else { continue }
            return session
        }
        return nil
    }

    func header(for session: Session) -> String {
        let code = owned.withLock { $0.seal }.code(for: "session \(session.text)")
        return "\(Self.cookie)=\(session.text).\(code); Path=/; HttpOnly; SameSite=Strict" + (isTLS ? "; Secure" : "")
    }

    // MARK: Forms

    /// Returns the token in the forms of a session's pages, which other sites cannot know.
    func token(of session: Session) -> String { owned.withLock { $0.seal }.code(for: "form \(session.id)") }

    func isToken(_ text: String, of session: Session) -> Bool {
        owned.withLock { $0.seal }.isRight(text, for: "form \(session.id)")
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
        let secret = Seal.random(Self.secretByteCount)
        try await settings.set(secret, for: .sessionSecret)
        owned.withLock { $0 = Owned(seal: Seal(secret: secret, password: password), ended: [:]) }
        // These sessions are signed with a key that no longer exists.
        try await settings.remove(.endedSessions)
    }
}
