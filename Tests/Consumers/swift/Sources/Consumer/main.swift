// Imports both faces the way an application does.
import Motte
import RealmSwift

print("hello from outside")
