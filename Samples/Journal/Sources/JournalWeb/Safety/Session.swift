/// What a browser is told apart by: an id that nobody can make up, in a cookie that no script reads.
struct Session: Hashable, Sendable {
    /// 32 random characters.
    let id: String
    /// Whether somebody has said the password in it, or none is needed.
    let isLoggedIn: Bool
    /// When it ends, in seconds since 1970.
    let expires: Int
    /// Whether the browser has it already.
    var isNew = false

    /// What its cookie says of it, and is signed.
    var text: String { "\(isLoggedIn ? "in" : "out").\(id).\(expires)" }

    init(id: String, isLoggedIn: Bool, expires: Int, isNew: Bool = false) {
        (self.id, self.isLoggedIn, self.expires, self.isNew) = (id, isLoggedIn, expires, isNew)
    }

    /// Reads what a cookie says, in exactly that form.
    init?(_ text: String) {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        guard fields.count == 3, ["in", "out"].contains(fields[0]), let expires = Int(fields[2]) else { return nil }
        self.init(id: fields[1], isLoggedIn: fields[0] == "in", expires: expires)
        guard self.text == text else { return nil }
    }
}
