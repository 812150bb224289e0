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

    init(id: String, isLoggedIn: Bool, expires: Int, isNew: Bool = false) {
        self.id = id
        self.isLoggedIn = isLoggedIn
        self.expires = expires
        self.isNew = isNew
    }

    /// Reads the text of a cookie in exactly this format.
    init?(_ text: String) {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        guard fields.count == 3, ["in", "out"].contains(fields[0]), let expires = Int(fields[2]) else { return nil }
        self.init(id: fields[1], isLoggedIn: fields[0] == "in", expires: expires)
        guard self.text == text else { return nil }
    }
}
