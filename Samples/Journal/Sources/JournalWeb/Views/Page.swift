/// The contents that all pages have in common.
struct Page: Sendable {
    struct Link: Sendable {
        let path: String
        let name: String
        let isCurrent: Bool
    }

    /// The style sheet's classes for the settings.
    let classes: String
    let template: String
    let title: String
    /// The token in the forms of the page.
    let token: String
    /// The version of the contents. See ``LiveFeed``.
    let version: String
    let links: [Link]
    /// The reason why the storage is unavailable.
    let outage: String
    /// The reason why other devices do not receive changes.
    let sync: String
    /// Indicates that the page receives live updates.
    let isLive: Bool
    /// Indicates that the browser may see the other pages too.
    let isIn: Bool
    let hasPassword: Bool
    let content: any Sendable

    static let all = [
        (path: "/", name: "Today"), (path: "/timeline", name: "Timeline"), (path: "/pictures", name: "Pictures"),
        (path: "/how", name: "How it works"), (path: "/storage", name: "Storage"),
        (path: "/settings", name: "Settings"),
    ]
}
