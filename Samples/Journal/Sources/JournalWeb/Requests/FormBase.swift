import Crypto
import Foundation

/// What the fields of a form had when the page was made, which the form carries.
///
/// Only what differs from that was changed by whoever sends it. The rest stays as it is by now: another window or
/// device may have changed it meanwhile.
struct FormBase: Sendable {
    private let form: Form

    /// - Parameter form: one without these fields counts as changed in all of them.
    init(_ form: Form) { self.form = form }

    /// Whether a field has another time than the page has shown. Browsers leave out seconds that are zero.
    func hasChangedTime(_ name: String, _ times: LocalTime) -> Bool {
        let (was, now) = (form["was-\(name)"], form[name])
        guard form.has("was-\(name)"), was != now else { return !form.has("was-\(name)") }
        guard let before = times.date(was), let after = times.date(now) else { return true }
        return before != after
    }

    /// The same of a long text, of which the form carries a mark.
    func hasChangedText(_ name: String) -> Bool { form["was-\(name)"] != Self.mark(form[name]) }

    /// The boxes of a name that were ticked on the page, as ids.
    func ids(_ name: String) -> Set<UUID> { Set(form.all("was-\(name)").compactMap(UUID.init(uuidString:))) }

    /// What stands for a long text. Browsers send line breaks of their own.
    static func mark(_ text: String) -> String {
        let plain = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
        return SHA256.hash(data: Data(plain.utf8)).prefix(8).map { String($0, radix: 16) }.joined(separator: ".")
    }
}
