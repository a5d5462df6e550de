import Flotilla

print("flotilla")
