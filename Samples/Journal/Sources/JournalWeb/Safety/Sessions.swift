import Foundation
import LFSSettings
import Synchronization

/// Makes sessions and form tokens, and knows its own again, also after a restart.
///
/// A session ends after some days, when somebody logs out in it, with another password, and when all are ended. Owner
/// of the key and of the ended ones: the mutex.
final class Sessions: Sendable {
    static let cookie = "journal"
    /// In seconds.
    static let lifetime = 30 * 24 * 3_600
    /// As many ended ones are kept, until their time has come; with more all end.
    static let maxEnded = 1_000

    private struct Owned {
        var seal: Seal
        /// By their ids, with the time when they would have ended by themselves.
        var ended: [String: Int]
    }

    private let settings: StorageRouter
    private let password: Data
    private let isTLS: Bool
    private let now: @Sendable () -> Int
    private let owned: Mutex<Owned>

    /// Sessions whose key is among the secrets of a journal; it is made if there is none.
    ///
    /// - Throws: `SettingsError` when the secrets are not there: none is made in their place.
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
                "The secret of the sessions has \(secret.count) bytes, and not 32. Remove it, and start again.",
                key: StorageKey.sessionSecret.name)
        }
        let ended = try await settings.get(.endedSessions)
        return Sessions(settings, password: password?.bytes ?? Data(), isTLS, secret, ended, now)
    }

    private static let secretByteCount = 32

    private init(
        _ settings: StorageRouter, password: Data, _ isTLS: Bool, _ secret: Data, _ ended: [String: Int],
        _ now: @escaping @Sendable () -> Int
    ) {
        (self.settings, self.password, self.isTLS, self.now) = (settings, password, isTLS, now)
        owned = Mutex(Owned(seal: Seal(secret: secret, password: password), ended: ended))
    }

    // MARK: Cookies

    func newSession(isLoggedIn: Bool) -> Session {
        Session(
            id: Seal.hex(Seal.random(16)), isLoggedIn: isLoggedIn, expires: now() + Self.lifetime, isNew: true)
    }

    /// The session of a request's cookies; nil when there is none of ours that has not ended.
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

    /// What the forms of a session's pages carry, and no other site can know.
    func token(of session: Session) -> String { owned.withLock { $0.seal }.code(for: "form \(session.id)") }

    func isToken(_ text: String, of session: Session) -> Bool {
        owned.withLock { $0.seal }.isRight(text, for: "form \(session.id)")
    }

    // MARK: Ends

    /// Ends a session in which somebody is logged in, for good.
    ///
    /// - Throws: `SettingsError`; the session has ended then until the next start.
    func end(_ session: Session) async throws {
        guard session.isLoggedIn else { return }
        let time = now()
        owned.withLock { $0.ended[session.id] = session.expires }
        let ended = try await settings.update(.endedSessions) { ended in
            ended = ended.filter { $0.value > time }
            // One more than are kept tells that there were too many.
            if ended.count <= Self.maxEnded { ended[session.id] = session.expires }
        }
        if ended.count > Self.maxEnded { return try await endAll() }
        // Another one may have ended meanwhile, too.
        owned.withLock { owned in
            owned.ended = owned.ended.merging(ended) { max($0, $1) }.filter { $0.value > time }
        }
    }

    /// Ends all sessions of all browsers.
    ///
    /// - Throws: `SettingsError`, and then they go on.
    func endAll() async throws {
        let secret = Seal.random(Self.secretByteCount)
        try await settings.set(secret, for: .sessionSecret)
        owned.withLock { $0 = Owned(seal: Seal(secret: secret, password: password), ended: [:]) }
        // They are signed with a key that is gone.
        try await settings.remove(.endedSessions)
    }
}
